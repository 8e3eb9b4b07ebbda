import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { openTelemetry } from '../../../actors/host/open-telemetry.ts';
import { recordTelemetry, type TelemetryRecorder, told } from '../../support/telemetry-recorder.ts';
import { bringUp, crash, failure, nextAttempt, servers, stageOf } from '../stage.ts';

const connect = 'mcp_troupe.server.connect';

async function staged(
  entries: Parameters<typeof servers>[0] = { db: 'srv' },
  obedient?: readonly string[],
) {
  const recorder = recordTelemetry();
  const telemetry = openTelemetry(recorder.providers, (message) => expect.unreachable(message));
  const settings = servers(entries);
  const stage = await stageOf({ settings, telemetry, ...(obedient && { obedient }) });
  return { stage, recorder };
}

/** The present states, as `name state`. */
async function statesIn(recorder: TelemetryRecorder): Promise<readonly string[]> {
  const points = await recorder.points('mcp_troupe.server.state');
  expect(points.filter(({ value }) => value !== 0 && value !== 1)).toEqual([]);
  return points
    .filter(({ value }) => value === 1)
    .map(({ attributes: { 'mcp_troupe.server.name': name, 'mcp_troupe.server.state': state } }) =>
      [name, state].join(' '),
    )
    .toSorted();
}

async function numbers(recorder: TelemetryRecorder, metric: string) {
  const points = await recorder.points(`mcp_troupe.server.${metric}`);
  return points.map(({ attributes, value }) => ({ ...attributes, value }));
}

describe('a connection attempt', () => {
  it('records a span with its phases and duration', async () => {
    const { stage, recorder } = await staged({ db: 'srv' }, []);
    await stage.advance(250);
    bringUp(stage.sessions.of('db'));
    await stage.settle();
    const span = recorder.span(connect);
    expect(told(span)).toEqual({
      name: connect,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'mcp_troupe.server.name': 'db',
        'network.transport': 'pipe',
        'mcp_troupe.server.attempt': 1,
        'mcp_troupe.server.role': 'present',
        'mcp_troupe.server.state': 'ready',
      },
    });
    expect(span.kind).toBe(SpanKind.CLIENT);
    expect(span.parentSpanContext).toBeUndefined();
    const phases = span.events.map(({ name }) => name);
    expect(phases.slice(-2)).toEqual(['loadingTools', 'ready']);
    expect(phases).toContain('connecting');
    expect(await recorder.points('mcp_troupe.server.connect.duration')).toMatchObject([
      { unit: 's', attributes: { 'mcp_troupe.server.name': 'db' }, value: 1, sum: 0.25 },
    ]);
  });

  it("records the status's error code and a new span for the next attempt", async () => {
    const { stage, recorder } = await staged({ db: 'srv' }, []);
    stage.sessions.of('db').open();
    stage.sessions.of('db').fail(crash('secret words'));
    await stage.settle();
    const code = stage.troupe.status('db')?.lastError?.code;
    expect(recorder.span(connect).status).toEqual({ code: SpanStatusCode.ERROR, message: code });
    await nextAttempt(stage, 'db');
    bringUp(stage.sessions.of('db'));
    await stage.settle();
    const tries = recorder
      .spans()
      .map(({ attributes, status }) => [
        attributes['mcp_troupe.server.attempt'],
        attributes['error.type'],
        status.code,
      ]);
    expect(tries).toEqual([
      [1, code, SpanStatusCode.ERROR],
      [2, undefined, SpanStatusCode.UNSET],
    ]);
    expect(await recorder.text()).not.toContain('secret');
  });

  it('records no error when the user stops it', async () => {
    const { stage, recorder } = await staged({ db: 'srv' }, []);
    stage.obedient = null;
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.advance(1_000);
    expect(stage.stateOf('db')).toBe('stopped');
    const { status, attributes } = recorder.span(connect);
    expect(status.code).toBe(SpanStatusCode.UNSET);
    expect(attributes['mcp_troupe.server.state']).toBe('stopped');
  });

  it('ends its span with the troupe', async () => {
    const { stage, recorder } = await staged({ db: 'srv' }, []);
    const stopped = stage.troupe.stop();
    await stage.advance(6_000);
    await stopped;
    expect(recorder.span(connect).ended).toBe(true);
  });

  it('is recorded for a successor while the old generation serves', async () => {
    const { stage, recorder } = await staged({ db: { command: 'srv', handover: 'seamless' } });
    await stage.apply(servers({ db: { command: 'other', handover: 'seamless' } }));
    await stage.advance(1_000);
    const roles = recorder
      .spans()
      .map(({ attributes, status }) => [
        attributes['mcp_troupe.server.role'],
        attributes['mcp_troupe.server.state'],
        status.code,
      ]);
    expect(roles).toEqual([
      ['present', 'ready', SpanStatusCode.UNSET],
      ['successor', 'ready', SpanStatusCode.UNSET],
    ]);
  });
});

describe('a server', () => {
  it('is counted in exactly one state, and in none after removal', async () => {
    const { stage, recorder } = await staged({ db: 'srv', web: 'srv' }, ['web']);
    expect(await statesIn(recorder)).toEqual(['db connecting', 'web ready']);
    bringUp(stage.sessions.of('db'));
    await stage.settle();
    expect(await statesIn(recorder)).toEqual(['db ready', 'web ready']);
    stage.sessions.of('db').fail(failure('transport'));
    await stage.settle();
    expect(await statesIn(recorder)).toEqual(['db backingOff', 'web ready']);
    await stage.apply(servers({ db: 'srv' }));
    await stage.advance(1_000);
    expect((await statesIn(recorder)).filter((each) => each.startsWith('web'))).toEqual([]);
    const stopped = stage.troupe.stop();
    await stage.advance(6_000);
    await stopped;
    expect(await statesIn(recorder)).toEqual([]);
  });

  it('is counted at each transition and restart', async () => {
    const { stage, recorder } = await staged();
    for (let count = 0; count < 2; count += 1) {
      stage.troupe.send({ type: 'server.restart', server: 'db' });
      await stage.advance(5_000);
    }
    expect(stage.troupe.status('db')).toMatchObject({ state: 'ready', restarts: 2 });
    const about = { 'mcp_troupe.server.name': 'db' };
    expect(await numbers(recorder, 'restarts')).toEqual([{ ...about, value: 2 }]);
    expect(await numbers(recorder, 'transitions')).toContainEqual({
      ...about,
      'mcp_troupe.server.state': 'ready',
      value: 3,
    });
    await stage.apply(servers({ db: 'other' }));
    await stage.advance(5_000);
    expect(stage.troupe.status('db')).toMatchObject({ state: 'ready', restarts: 0 });
    expect(await numbers(recorder, 'restarts')).toEqual([{ ...about, value: 2 }]);
  });

  it('is labelled _OTHER beyond the limit', async () => {
    const { BoundedLabels } = await import('../../../src/runtime/telemetry/calls.ts');
    const labels = new BoundedLabels();
    const names = Array.from({ length: 2_500 }, (_, index) => labels.of(`server-${index}`));
    expect(new Set(names).size).toBe(2_001);
    expect([names[1_999], names[2_000]]).toEqual(['server-1999', '_OTHER']);
    expect(labels.of('server-7')).toBe('server-7');
  });
});

it('records the duration of passes that changed something', async () => {
  const { stage, recorder } = await staged();
  const before = await recorder.points('mcp_troupe.reconcile.duration');
  expect(before).toMatchObject([{ unit: 's', value: 1 }]);
  await stage.apply(servers({ db: 'srv', web: 'srv' }));
  const [after] = await recorder.points('mcp_troupe.reconcile.duration');
  expect(after?.value).toBe(2);
});
