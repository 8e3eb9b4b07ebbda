import { describe, expect, it } from 'vitest';
import type { CallOptions, CallReport } from '../../../src/index.ts';
import { call, callFailure, crash, pong, type Stage, servers, stageOf, watch } from '../stage.ts';

const settings = servers({
  db: { command: 'srv', policy: { call: { backgroundAfterMs: 2_000, timeoutMs: 60_000 } } },
});

/** A call that has just got its receipt. */
async function parked(options: CallOptions = {}) {
  const stage = await stageOf({ settings });
  const made = call(stage, 'db', options);
  await stage.advance(2_000);
  const report = made.value as CallReport | undefined;
  return { stage, made, report, id: report?.meta.background ?? '' };
}

const collected = (stage: Stage, id: string, options = {}) =>
  watch(stage.troupe.collect(id, options));

describe('a long-running call', () => {
  it('resolves with a receipt and can be collected later', async () => {
    const { stage, made, report, id } = await parked();
    expect(made.state).toBe('done');
    expect(report?.meta).toEqual({
      server: 'db',
      tool: 'query',
      attempts: 1,
      durationMs: 2_000,
      background: 'call-1',
    });
    expect(report?.result.content[0]?.['text']).toContain('call-1');
    expect(stage.troupe.backgroundCalls()).toMatchObject([
      { id, server: 'db', tool: 'query', state: 'running' },
    ]);
    const waiting = collected(stage, id);
    await stage.advance(3_000);
    expect(waiting.state).toBe('pending');
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(waiting.value).toEqual({
      result: pong,
      meta: { server: 'db', tool: 'query', attempts: 1, durationMs: 5_000 },
    });
    expect(stage.troupe.backgroundCalls()).toEqual([]);
  });

  it('can be collected once', async () => {
    const { stage, id } = await parked();
    const both = [collected(stage, id), collected(stage, id)];
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(both.map(({ state }) => state).toSorted()).toEqual(['done', 'refused']);
    const again = collected(stage, id);
    await stage.settle();
    expect(again.error).toMatchObject({ code: 'INVALID_ARGUMENTS' });
  });

  it('rejects the collecting caller with its error', async () => {
    const { stage, id } = await parked();
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(stage.troupe.backgroundCalls()).toMatchObject([{ state: 'failed' }]);
    const end = collected(stage, id);
    await stage.settle();
    expect(end.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
  });

  it('ends at its deadline', async () => {
    const { stage, id } = await parked();
    await stage.advance(58_000);
    const end = collected(stage, id);
    await stage.settle();
    expect(end.error).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
  });

  it('ends when its caller aborts', async () => {
    const controller = new AbortController();
    const { stage, id } = await parked({ signal: controller.signal });
    controller.abort();
    await stage.settle();
    const end = collected(stage, id);
    await stage.settle();
    expect(end.error).toMatchObject({ code: 'CANCELLED', outcome: 'unknown' });
  });

  it('ends with the troupe', async () => {
    const { stage, id } = await parked();
    const end = collected(stage, id);
    void stage.troupe.stop();
    await stage.settle();
    expect(end.error).toMatchObject({ outcome: 'unknown' });
  });

  it('leaves no timer behind when the troupe stops, and its result can still be collected', async () => {
    const { stage, id } = await parked();
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    void stage.troupe.stop();
    await stage.advance(60_000);
    expect(stage.clock.pendingCount).toBe(0);
    const end = collected(stage, id);
    await stage.settle();
    expect(end.state).toBe('done');
  });

  it('continues when a wait for it is aborted or times out', async () => {
    const { stage, id } = await parked();
    const controller = new AbortController();
    const short = collected(stage, id, { timeoutMs: 100 });
    const aborted = collected(stage, id, { signal: controller.signal });
    controller.abort();
    await stage.advance(100);
    expect(short.error).toMatchObject({ code: 'TIMEOUT_WAITING', outcome: 'unknown' });
    expect(aborted.error).toMatchObject({ code: 'CANCELLED', outcome: 'unknown' });
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    const end = collected(stage, id, { signal: AbortSignal.abort() });
    await stage.settle();
    expect(end.state).toBe('done');
  });

  it('is forgotten one hour after it settles', async () => {
    const { stage } = await parked();
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    await stage.advance(3_600_000);
    expect(stage.troupe.backgroundCalls()).toHaveLength(1);
    await stage.advance(1);
    expect(stage.troupe.backgroundCalls()).toEqual([]);
  });

  it('evicts the oldest settled call at the limit', async () => {
    const stage = await stageOf({ settings });
    for (let n = 0; n < 65; n += 1) {
      const made = call(stage, 'db');
      await stage.advance(2_000);
      expect(made.state).toBe('done');
      stage.sessions.of('db').calls[n]?.answer(pong);
      await stage.settle();
    }
    const ids = stage.troupe.backgroundCalls().map(({ id }) => id);
    expect(ids).toHaveLength(64);
    expect(ids[0]).toBe('call-2');
  });
});

describe('a call', () => {
  it('resolves with its result when it finishes quickly', async () => {
    const stage = await stageOf({ settings });
    const [good, bad] = [call(stage, 'db'), call(stage, 'db')];
    await stage.advance(1_999);
    stage.sessions.of('db').calls[0]?.answer(pong);
    stage.sessions.of('db').calls[1]?.fail(callFailure('serverError', true));
    await stage.settle();
    expect(good.value?.meta.background).toBeUndefined();
    expect(bad.error).toMatchObject({ code: 'SERVER_ERROR' });
  });

  it('gets no receipt before it is sent', async () => {
    const stage = await stageOf({ settings, obedient: [] });
    const made = call(stage, 'db');
    await stage.advance(10_000);
    expect(made.state).toBe('pending');
  });

  it('runs in the foreground by default', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    const made = call(stage, 'db');
    await stage.advance(59_000);
    expect(made.state).toBe('pending');
  });
});
