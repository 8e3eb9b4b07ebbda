import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace-base';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { OpenTelemetry, openTelemetry } from '../../../actors/host/open-telemetry.ts';
import {
  recordTelemetry,
  rememberActiveSpans,
  type TelemetryRecorder,
} from '../../support/telemetry-recorder.ts';
import {
  call,
  callFailure,
  crash,
  pong,
  remote,
  type Stage,
  servers,
  setUp,
  stageOf,
  tool,
  watch,
} from '../stage.ts';

type Entry = Parameters<typeof servers>[0][string];

async function staged(entry: Entry = 'srv', recorder = recordTelemetry()) {
  const telemetry = openTelemetry(recorder.providers, (message) => expect.unreachable(message));
  const stage = await stageOf({ settings: servers({ db: entry }), telemetry });
  return { stage, recorder };
}

async function answered(stage: Stage, made: { readonly state: string }, nth = 0): Promise<void> {
  await stage.settle();
  stage.sessions.of('db').calls[nth]?.answer(pong);
  await stage.settle();
  expect(made.state).not.toBe('pending');
}

/** The parts of the only call, in order, as `name status`. */
function partsOf(recorder: TelemetryRecorder): readonly string[] {
  const whole = recorder
    .spans()
    .find(({ kind, name }) => kind === SpanKind.CLIENT && name.includes('/'));
  return recorder
    .spans()
    .filter(({ parentSpanContext }) => parentSpanContext?.spanId === whole?.spanContext().spanId)
    .map(({ name, attributes: { 'error.type': error } }) =>
      error === undefined ? name : `${name} ${String(error)}`,
    );
}

const attempt = 'mcp_troupe.call.attempt';
const duration = 'mcp.client.operation.duration';

describe('a tool call', () => {
  it('records one span and one measurement if it is sent at once and answered', async () => {
    const { stage, recorder } = await staged();
    const made = call(stage, 'db');
    await stage.advance(250);
    await answered(stage, made);
    const span = recorder.span('tools/call query');
    expect(span.kind).toBe(SpanKind.CLIENT);
    expect(span.status).toEqual({ code: SpanStatusCode.UNSET });
    const labels = {
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'query',
      'mcp_troupe.server.name': 'db',
      'network.transport': 'pipe',
      'mcp_troupe.call.outcome': 'executed',
    };
    expect(span.attributes).toEqual({ ...labels, 'mcp_troupe.call.attempts': 1 });
    expect(partsOf(recorder)).toEqual([]);
    expect(await recorder.points(duration)).toEqual([
      { metric: duration, unit: 's', attributes: labels, value: 1, sum: 0.25 },
    ]);
  });

  it('records its network transport', async () => {
    const { stage, recorder } = await staged(remote);
    await answered(stage, call(stage, 'db'));
    expect(recorder.span('tools/call query').attributes).toMatchObject({
      'network.transport': 'tcp',
      'network.protocol.name': 'http',
    });
  });

  it('records a tool error as executed', async () => {
    const { stage, recorder } = await staged();
    const made = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer({ ...pong, isError: true });
    await stage.settle();
    expect(made.state).toBe('done');
    const { status, attributes } = recorder.span('tools/call query');
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'tool_error' });
    expect(attributes).toMatchObject({
      'error.type': 'tool_error',
      'mcp_troupe.call.outcome': 'executed',
    });
  });

  it("records its error code, the server's code and the outcome", async () => {
    const { stage, recorder } = await staged();
    const made = call(stage, 'db');
    await stage.settle();
    const answer = callFailure('serverError', true, { rpcCode: -32_050 });
    stage.sessions.of('db').calls[0]?.fail(answer);
    await stage.settle();
    expect(made.error?.code).toBe('SERVER_ERROR');
    const { status, attributes } = recorder.span('tools/call query');
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'SERVER_ERROR' });
    expect(attributes).toMatchObject({
      'error.type': 'SERVER_ERROR',
      'rpc.response.status_code': '-32050',
      'mcp_troupe.call.outcome': made.error?.outcome,
    });
    expect(partsOf(recorder)).toEqual([`${attempt} SERVER_ERROR`]);
    expect(recorder.span(attempt).attributes).toMatchObject({ 'mcp_troupe.call.attempt': 1 });
  });

  it('records a failed attempt from when it was sent', async () => {
    vi.spyOn(OpenTelemetry.prototype, 'now').mockReturnValue(Date.UTC(2020));
    onTestFinished(() => void vi.restoreAllMocks());
    const { stage, recorder } = await staged();
    const made = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').calls[0]?.fail(callFailure('serverError', true));
    await stage.settle();
    expect(made.error?.code).toBe('SERVER_ERROR');
    expect(recorder.span(attempt).startTime).toEqual([Date.UTC(2020) / 1_000, 0]);
  });

  it('records a timeout at its deadline', async () => {
    const { stage, recorder } = await staged();
    const made = call(stage, 'db', { timeoutMs: 5_000 });
    await stage.advance(5_000);
    expect(made.error?.code).toBe('TIMEOUT');
    expect(recorder.span('tools/call query').attributes).toMatchObject({
      'error.type': 'TIMEOUT',
      'mcp_troupe.call.outcome': 'unknown',
    });
    const [{ sum, attributes } = {}] = await recorder.points(duration);
    expect(sum).toBe(5);
    expect(attributes).toMatchObject({ 'error.type': 'TIMEOUT' });
  });

  it('records a cancellation by its caller', async () => {
    const { stage, recorder } = await staged();
    const caller = new AbortController();
    const made = call(stage, 'db', { signal: caller.signal });
    await stage.settle();
    caller.abort();
    await stage.settle();
    expect(made.error?.code).toBe('CANCELLED');
    expect(recorder.span('tools/call query').status.message).toBe('CANCELLED');
    expect(partsOf(recorder)).toEqual([`${attempt} CANCELLED`]);
  });

  it('records a retry and its reason', async () => {
    const { stage, recorder } = await staged({
      command: 'srv',
      policy: { call: { replay: 'once' }, restart: { first: 'delayed' } },
    });
    const made = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    await stage.advance(1_000);
    await answered(stage, made);
    const { attributes, events, status } = recorder.span('tools/call query');
    expect(status.code).toBe(SpanStatusCode.UNSET);
    expect(attributes).toMatchObject({ 'mcp_troupe.call.attempts': 2 });
    expect(events.map(({ name, attributes: about }) => ({ name, about }))).toEqual([
      {
        name: 'mcp_troupe.call.replay',
        about: { 'error.type': 'CRASHED', 'mcp_troupe.call.replay': 'mayRepeat' },
      },
    ]);
    expect(partsOf(recorder)).toEqual([`${attempt} CRASHED`, 'mcp_troupe.call.wait', attempt]);
  });

  it('records the wait for a server to start', async () => {
    const { stage, recorder } = await staged({ command: 'srv', startup: 'lazy' });
    expect(stage.stateOf('db')).toBe('dormant');
    stage.obedient = new Set();
    const made = call(stage, 'db');
    await stage.advance(2_000);
    stage.sessions.of('db').open();
    stage.sessions.of('db').list([tool('query')]);
    await answered(stage, made);
    expect(partsOf(recorder)).toEqual(['mcp_troupe.call.wait', attempt]);
    const { attributes } = recorder.span('mcp_troupe.call.wait');
    expect(attributes).toEqual({
      'mcp_troupe.server.state': expect.stringMatching(/dormant|queued|connecting/),
    });
    const [{ sum } = {}] = await recorder.points(duration);
    expect(sum).toBe(2);
  });

  it('records the time in the queue', async () => {
    const { stage, recorder } = await staged();
    for (let index = 0; index < 65; index += 1) call(stage, 'db');
    await stage.settle();
    const { calls } = stage.sessions.of('db');
    expect(calls).toHaveLength(64);
    for (const each of calls) each.answer(pong);
    await stage.settle();
    calls[64]?.answer(pong);
    await stage.settle();
    const queue = recorder.span('mcp_troupe.call.queue');
    const { spanId } = queue.parentSpanContext ?? {};
    const parts = recorder.spans().filter((span) => span.parentSpanContext?.spanId === spanId);
    expect(parts.map(({ name }) => name)).toEqual(['mcp_troupe.call.queue', attempt]);
  });

  it('records the permission request', async () => {
    const recorder = recordTelemetry();
    const telemetry = openTelemetry(recorder.providers, (message) => expect.unreachable(message));
    const stage = await stageOf({
      settings: servers({ db: 'srv' }),
      telemetry,
      permission: () => 'ask',
      askPermission: () => 'deny',
    });
    const made = call(stage, 'db');
    await stage.settle();
    expect(made.error?.code).toBe('PERMISSION_DENIED');
    expect(partsOf(recorder)).toEqual(['mcp_troupe.call.permission']);
    expect(recorder.span('tools/call').attributes).toMatchObject({
      'mcp_troupe.call.outcome': 'not_executed',
      'mcp_troupe.call.attempts': 0,
    });
  });

  it('omits server and tool names that do not exist', async () => {
    const { stage, recorder } = await staged();
    watch(stage.troupe.callServerTool('invented', 'thing'));
    watch(stage.troupe.callServerTool('db', 'thing'));
    watch(stage.troupe.callTool('mcp__invented__thing'));
    await stage.settle();
    const spans = recorder.spans().filter(({ name }) => name === 'tools/call');
    expect(spans.map(({ attributes }) => String(attributes['error.type'])).toSorted()).toEqual([
      'SERVER_UNKNOWN',
      'TOOL_UNKNOWN',
      'TOOL_UNKNOWN',
    ]);
    expect(await recorder.text()).not.toMatch(/invented|thing/);
  });

  it('has a span even if it starts before the settings are read', async () => {
    const recorder = recordTelemetry();
    const telemetry = openTelemetry(recorder.providers, (message) => expect.unreachable(message));
    const stage = setUp({ settings: servers({ db: 'srv' }), telemetry });
    await answered(stage, call(stage, 'db'));
    expect(recorder.span('tools/call query').status.code).toBe(SpanStatusCode.UNSET);
  });

  it('ends its span with the call, not with the receipt', async () => {
    const { stage, recorder } = await staged({
      command: 'srv',
      policy: { call: { backgroundAfterMs: 2_000 } },
    });
    const made = call(stage, 'db');
    await stage.advance(2_000);
    expect(made.state).toBe('done');
    expect(recorder.spans().map(({ name }) => name)).not.toContain('tools/call query');
    await stage.advance(3_000);
    await answered(stage, made);
    const { events } = recorder.span('tools/call query');
    expect(events.map(({ name }) => name)).toEqual(['mcp_troupe.call.background']);
    expect(await recorder.points(duration)).toMatchObject([{ value: 1, sum: 5 }]);
  });

  it('is recorded for a catalog snapshot too', async () => {
    const { stage, recorder } = await staged();
    const made = watch(stage.troupe.catalog().callTool('mcp__db__query'));
    await answered(stage, made);
    expect(recorder.span('tools/call query').kind).toBe(SpanKind.CLIENT);
  });

  it('records no arguments, results or messages', async () => {
    const { stage, recorder } = await staged({
      command: 'srv',
      args: ['secret-arg'],
      env: { TOKEN: 'secret-env' },
    });
    const made = watch(stage.troupe.callServerTool('db', 'query', { sql: 'secret-argument' }));
    const other = watch(stage.troupe.callServerTool('db', 'query', { sql: 'secret-argument' }));
    await stage.settle();
    const [first, second] = stage.sessions.of('db').calls;
    first?.answer({ content: [{ type: 'text', text: 'secret-result' }] });
    const message = 'secret-message';
    second?.fail(callFailure('serverError', true, { rpcCode: 1, message, rpcData: { message } }));
    stage.sessions.of('db').fail(crash('secret-crash'));
    await stage.advance(1_000);
    expect([made.state, other.state]).toEqual(['done', 'refused']);
    const text = await recorder.text();
    expect(text).toContain('tools/call query');
    expect(text).not.toContain('secret');
  });
});

describe('another request', () => {
  it('records a span named after its method only', async () => {
    const { stage, recorder } = await staged();
    const read = watch(stage.troupe.readResource('db', 'file:///private/notes'));
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer({ contents: [] });
    await stage.settle();
    expect(read.state).toBe('done');
    expect(recorder.span('resources/read').attributes).toEqual({
      'mcp.method.name': 'resources/read',
      'mcp_troupe.server.name': 'db',
      'network.transport': 'pipe',
      'mcp_troupe.call.outcome': 'executed',
      'mcp_troupe.call.attempts': 1,
    });
    expect(await recorder.text()).not.toContain('private');
  });
});

describe("a caller's trace", () => {
  it('is continued', async () => {
    rememberActiveSpans();
    const { stage, recorder } = await staged();
    const turn = recorder.tracerProvider.getTracer('host').startSpan('turn');
    const made = context.with(trace.setSpan(ROOT_CONTEXT, turn), () => call(stage, 'db'));
    await answered(stage, made);
    const { parentSpanContext } = recorder.span('tools/call query');
    expect(parentSpanContext?.spanId).toBe(turn.spanContext().spanId);
  });

  it("is active in the host's callbacks", async () => {
    rememberActiveSpans();
    const recorder = recordTelemetry();
    const telemetry = openTelemetry(recorder.providers, (message) => expect.unreachable(message));
    let active: string | undefined;
    const stage = await stageOf({
      settings: servers({ db: 'srv' }),
      telemetry,
      permission: () => {
        active = trace.getActiveSpan()?.spanContext().spanId;
        return 'allow';
      },
    });
    await answered(stage, call(stage, 'db'));
    expect(active).toBe(recorder.span('tools/call query').spanContext().spanId);
  });

  it('can be passed explicitly', async () => {
    const { stage, recorder } = await staged();
    const traceContext = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    await answered(stage, call(stage, 'db', { traceContext }));
    expect(recorder.span('tools/call query').parentSpanContext).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
    });
  });

  it('gets no child spans when it is not sampled', async () => {
    const { stage, recorder } = await staged(
      'srv',
      recordTelemetry({ sampler: new AlwaysOffSampler() }),
    );
    await answered(stage, call(stage, 'db'));
    expect(recorder.spans()).toEqual([]);
    expect(await recorder.points(duration)).toMatchObject([{ value: 1 }]);
  });
});

it('describes a call to its spans at once, at their start and end', async () => {
  const made: string[] = [];
  const note = (name: string) => () => void made.push(name);
  const span = {
    isRecording: () => true,
    setAttributes: note('setAttributes'),
    addEvent: note('addEvent'),
    setStatus: note('setStatus'),
    updateName: note('updateName'),
    end: note('end'),
    spanContext: note('spanContext'),
  };
  const tracer = { startSpan: () => (made.push('startSpan'), span) };
  const telemetry = openTelemetry({ tracerProvider: { getTracer: () => tracer } }, (message) =>
    expect.unreachable(message),
  );
  const stage = await stageOf({ settings: servers({ db: 'srv' }), telemetry });
  made.length = 0;
  await answered(stage, call(stage, 'db'));
  const parts = ['startSpan', 'updateName', 'setAttributes', 'end'];
  expect(made).toEqual(parts);
});

describe('telemetry that throws', () => {
  const broken = (): never => {
    throw new Error('broken');
  };
  const span = {
    isRecording: () => true,
    setAttributes: broken,
    addEvent: broken,
    setStatus: broken,
    updateName: broken,
    end: broken,
    spanContext: broken,
  };
  const meter = {
    createHistogram: () => ({ record: broken }),
    createCounter: () => ({ add: broken }),
    createUpDownCounter: () => ({ add: broken }),
  };

  it.each([
    ['when a span starts', { startSpan: broken }],
    ['in every span method', { startSpan: () => span }],
  ])('affects no call or server and is reported once: %s', async (_when, tracer) => {
    const messages: string[] = [];
    const telemetry = openTelemetry(
      {
        tracerProvider: { getTracer: () => tracer },
        meterProvider: { getMeter: () => meter },
        propagator: { inject: broken, extract: broken },
      },
      (message) => messages.push(message),
    );
    const stage = await stageOf({ settings: servers({ db: 'srv' }), telemetry });
    const made = call(stage, 'db', { traceContext: { traceparent: 'any' } });
    await answered(stage, made);
    expect(made.state).toBe('done');
    const lost = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(lost.error?.code).toBe('CRASHED');
    await stage.advance(60_000);
    expect(stage.stateOf('db')).toBe('ready');
    expect(stage.errors).toEqual([]);
    expect(messages).toHaveLength(1);
  });
});
