import { describe, expect, it } from 'vitest';
import type { CallOptions, CallReport } from '../../../src/index.ts';
import { call, callFailure, crash, pong, type Stage, servers, stage, watch } from '../stage.ts';

const settings = servers({
  db: { command: 'srv', policy: { call: { backgroundAfterMs: 2_000, timeoutMs: 60_000 } } },
});

/** A call that has just got its receipt. */
async function parked(options: CallOptions = {}) {
  const there = await stage({ settings });
  const made = call(there, 'db', options);
  await there.advance(2_000);
  const report = made.value as CallReport | undefined;
  return { there, made, report, id: report?.meta.background ?? '' };
}

const collected = (there: Stage, id: string, options = {}) =>
  watch(there.troupe.collect(id, options));

describe('a long-running call', () => {
  it('resolves with a receipt and can be collected later', async () => {
    const { there, made, report, id } = await parked();
    expect(made.state).toBe('done');
    expect(report?.meta).toEqual({
      server: 'db',
      tool: 'query',
      attempts: 1,
      durationMs: 2_000,
      background: 'call-1',
    });
    expect(report?.result.content[0]?.['text']).toContain('call-1');
    expect(there.troupe.backgroundCalls()).toMatchObject([
      { id, server: 'db', tool: 'query', state: 'running' },
    ]);
    const waiting = collected(there, id);
    await there.advance(3_000);
    expect(waiting.state).toBe('pending');
    there.sessions.of('db').calls[0]?.answer(pong);
    await there.settle();
    expect(waiting.value).toEqual({
      result: pong,
      meta: { server: 'db', tool: 'query', attempts: 1, durationMs: 5_000 },
    });
    expect(there.troupe.backgroundCalls()).toEqual([]);
  });

  it('can be collected once', async () => {
    const { there, id } = await parked();
    const both = [collected(there, id), collected(there, id)];
    await there.settle();
    there.sessions.of('db').calls[0]?.answer(pong);
    await there.settle();
    expect(both.map(({ state }) => state).toSorted()).toEqual(['done', 'refused']);
    const again = collected(there, id);
    await there.settle();
    expect(again.error).toMatchObject({ code: 'INVALID_ARGUMENTS' });
  });

  it('rejects the collecting caller with its error', async () => {
    const { there, id } = await parked();
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(there.troupe.backgroundCalls()).toMatchObject([{ state: 'failed' }]);
    const end = collected(there, id);
    await there.settle();
    expect(end.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
  });

  it('ends at its deadline', async () => {
    const { there, id } = await parked();
    await there.advance(58_000);
    const end = collected(there, id);
    await there.settle();
    expect(end.error).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
  });

  it('ends when its caller aborts', async () => {
    const controller = new AbortController();
    const { there, id } = await parked({ signal: controller.signal });
    controller.abort();
    await there.settle();
    const end = collected(there, id);
    await there.settle();
    expect(end.error).toMatchObject({ code: 'CANCELLED', outcome: 'unknown' });
  });

  it('ends with the troupe', async () => {
    const { there, id } = await parked();
    const end = collected(there, id);
    void there.troupe.stop();
    await there.settle();
    expect(end.error).toMatchObject({ outcome: 'unknown' });
  });

  it('continues when a wait for it is aborted or times out', async () => {
    const { there, id } = await parked();
    const controller = new AbortController();
    const short = collected(there, id, { timeoutMs: 100 });
    const aborted = collected(there, id, { signal: controller.signal });
    controller.abort();
    await there.advance(100);
    expect(short.error).toMatchObject({ code: 'TIMEOUT_WAITING', outcome: 'unknown' });
    expect(aborted.error).toMatchObject({ code: 'CANCELLED', outcome: 'unknown' });
    there.sessions.of('db').calls[0]?.answer(pong);
    await there.settle();
    const end = collected(there, id, { signal: AbortSignal.abort() });
    await there.settle();
    expect(end.state).toBe('done');
  });

  it('is forgotten one hour after it settles', async () => {
    const { there } = await parked();
    there.sessions.of('db').calls[0]?.answer(pong);
    await there.settle();
    await there.advance(3_600_000);
    expect(there.troupe.backgroundCalls()).toHaveLength(1);
    await there.advance(1);
    expect(there.troupe.backgroundCalls()).toEqual([]);
  });

  it('evicts the oldest settled call at the limit', async () => {
    const there = await stage({ settings });
    for (let n = 0; n < 65; n += 1) {
      const made = call(there, 'db');
      await there.advance(2_000);
      expect(made.state).toBe('done');
      there.sessions.of('db').calls[n]?.answer(pong);
      await there.settle();
    }
    const ids = there.troupe.backgroundCalls().map(({ id }) => id);
    expect(ids).toHaveLength(64);
    expect(ids[0]).toBe('call-2');
  });
});

describe('a call', () => {
  it('resolves with its result when it finishes quickly', async () => {
    const there = await stage({ settings });
    const [good, bad] = [call(there, 'db'), call(there, 'db')];
    await there.advance(1_999);
    there.sessions.of('db').calls[0]?.answer(pong);
    there.sessions.of('db').calls[1]?.fail(callFailure('serverError', true));
    await there.settle();
    expect(good.value?.meta.background).toBeUndefined();
    expect(bad.error).toMatchObject({ code: 'SERVER_ERROR' });
  });

  it('gets no receipt before it is sent', async () => {
    const there = await stage({ settings, obedient: [] });
    const made = call(there, 'db');
    await there.advance(10_000);
    expect(made.state).toBe('pending');
  });

  it('runs in the foreground by default', async () => {
    const there = await stage({ settings: servers({ db: 'srv' }) });
    const made = call(there, 'db');
    await there.advance(59_000);
    expect(made.state).toBe('pending');
  });
});
