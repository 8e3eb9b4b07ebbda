import * as installed from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import {
  OpenTelemetry,
  openTelemetry,
  type TelemetryApi,
} from '../../../actors/host/open-telemetry.ts';
import { recordTelemetry, rememberActiveSpans } from '../../support/telemetry-recorder.ts';

// What is used of the package is there: this does not compile otherwise.
const api: TelemetryApi = installed;

function reports() {
  const messages: string[] = [];
  return { messages, report: (message: string) => void messages.push(message) };
}

function broken(): never {
  throw new Error('broken');
}

describe('OpenTelemetry', () => {
  it('is loaded only when the host requests it', () => {
    const { messages, report } = reports();
    expect(openTelemetry(undefined, report, broken)).toBeUndefined();
    expect(openTelemetry(false, report, broken)).toBeUndefined();
    expect(messages).toEqual([]);
  });

  it('is skipped and reported when it is not installed', () => {
    const { messages, report } = reports();
    expect(openTelemetry(true, report, broken)).toBeUndefined();
    expect(messages).toEqual([expect.stringContaining('Install it')]);
  });

  it("is loaded from the host's installed copy", () => {
    const { messages, report } = reports();
    const found = openTelemetry(true, report);
    const span = found?.start({ name: 'unused', kind: 'internal', attributes: {} });
    // Nothing is registered, so nothing is recorded, and nothing breaks.
    expect(span?.isRecording).toBe(false);
    expect(messages).toEqual([]);
  });

  it('has its exceptions reported once and does not affect the work', async () => {
    const { messages, report } = reports();
    const tracer = { startSpan: broken };
    const meter = { createHistogram: broken, createCounter: broken, createUpDownCounter: broken };
    const telemetry = openTelemetry(
      {
        tracerProvider: { getTracer: () => tracer },
        meterProvider: { getMeter: () => meter },
        propagator: { inject: broken, extract: broken },
      },
      report,
    );
    const { context } = telemetry?.contextOf({ traceparent: 'x' }) ?? { context: api.ROOT_CONTEXT };
    const span = telemetry?.start({
      name: 'a',
      kind: 'client',
      attributes: {},
      parent: context,
    });
    span?.event('b');
    span?.end('C');
    telemetry?.histogram('d', '')(1, {});
    telemetry?.counter('e', '', '1')(1, {});
    telemetry?.upDownCounter('f', '', '1')(1, {});
    expect(telemetry?.carried(context)).toBeUndefined();
    expect(await telemetry?.within(api.ROOT_CONTEXT, async () => 'done')).toBe('done');
    expect(messages).toHaveLength(1);
  });

  it('runs the work once, whether the context manager calls back late, twice or never', async () => {
    let runs = 0;
    const work = async (): Promise<number> => {
      runs += 1;
      return runs;
    };
    const late = {
      ...api.context,
      active: () => api.ROOT_CONTEXT,
      with: (_: object, run: () => void) => (run(), broken()),
    };
    const held: (() => void)[] = [];
    const tooLate = { ...late, with: (_: object, run: () => void) => void held.push(run) };
    const twice = { ...late, with: (_: object, run: () => void) => (run(), run()) };
    for (const context of [late, { ...late, with: broken }, tooLate, twice]) {
      runs = 0;
      const telemetry = new OpenTelemetry({ ...api, context }, {}, () => undefined);
      expect(await telemetry.within(api.ROOT_CONTEXT, work)).toBe(1);
      for (const run of held.splice(0)) run();
      expect(runs).toBe(1);
    }
  });

  it('runs the work once when the context manager calls back both late and twice', async () => {
    const callbacks: (() => void)[] = [];
    const withLate = (_: object, run: () => void): void => void callbacks.push(run, run);
    const context = { ...api.context, active: () => api.ROOT_CONTEXT, with: withLate };
    const telemetry = new OpenTelemetry({ ...api, context }, {}, () => undefined);
    let runs = 0;
    const work = async (): Promise<number> => {
      runs += 1;
      return runs;
    };
    const done = telemetry.within(api.ROOT_CONTEXT, work);
    for (const callBack of callbacks) callBack();
    expect(await done).toBe(1);
    expect(callbacks).toHaveLength(2);
    expect(runs).toBe(1);
  });

  it('forwards only W3C trace fields, whatever a propagator writes', () => {
    const inject = (_context: object, carrier: unknown, setter: object): void => {
      const { set } = setter as { set: (carrier: unknown, key: string, value: string) => void };
      set(carrier, 'b3', 'one');
      set(carrier, 'authorization', 'two');
      set(carrier, 'tracestate', 'three=3');
    };
    const propagator = { inject, extract: (context: object) => context };
    const telemetry = new OpenTelemetry(api, { propagator }, () => undefined);
    expect(telemetry.carried(api.ROOT_CONTEXT)).toEqual({ tracestate: 'three=3' });
  });

  it('links a span to the active trace when the caller passes another parent', () => {
    rememberActiveSpans();
    const recorder = recordTelemetry();
    const telemetry = new OpenTelemetry(api, recorder.providers, () => undefined);
    const request = recorder.tracerProvider.getTracer('test').startSpan('request');
    const named = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    installed.context.with(installed.trace.setSpan(installed.ROOT_CONTEXT, request), () => {
      const { context: parent, besides } = telemetry.contextOf(named);
      telemetry.start({ name: 'call', kind: 'client', attributes: {}, parent, besides }).end();
    });
    const { parentSpanContext, links } = recorder.span('call');
    expect(parentSpanContext?.traceId).toBe('0af7651916cd43dd8448eb211c80319c');
    expect(links.map(({ context: { spanId } }) => spanId)).toEqual([request.spanContext().spanId]);
  });
});
