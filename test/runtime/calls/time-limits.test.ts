import { describe, expect, it } from 'vitest';
import type { CallOptions } from '../../../src/index.ts';
import { call, pong, type Stage, servers, stageOf, type Watched } from '../stage.ts';

const local = { command: 'srv' };
const remote = { url: 'https://api.example/mcp' };
const under = (policy: object, more: object = {}) => {
  const place = 'url' in more ? {} : local;
  return servers({ db: { ...place, policy, ...more } });
};

/** A running call, and a way to report progress. */
async function running(
  policy: object,
  options: CallOptions = {},
  more: object = {},
): Promise<{ stage: Stage; made: Watched<unknown>; progress: () => void }> {
  const stage = await stageOf({ settings: under(policy, more) });
  const made = call(stage, 'db', options);
  await stage.settle();
  const progress = (): void => stage.sessions.of('db').calls[0]?.progress({ progress: 1 });
  return { stage, made, progress };
}

const onProgress = (): void => {};
const late = { code: 'TIMEOUT', outcome: 'unknown' };

describe('a running call', () => {
  it('ends at its deadline when progress was not requested', async () => {
    const { stage, made, progress } = await running({ call: { timeoutMs: 1_000 } });
    await stage.advance(900);
    progress();
    await stage.advance(100);
    expect(made.error).toMatchObject(late);
  });

  it.each([
    ['OMP-25', 'ohMyPi', 30_000],
    ['QW-86', 'qwenCode', 300_000],
  ])('%s: under %s ends after %i ms of silence', async (_row, preset, ms) => {
    const { stage, made } = await running({ preset }, { onProgress }, { trust: true });
    await stage.advance(ms - 1);
    expect(made.state).toBe('pending');
    await stage.advance(1);
    expect(made.error).toMatchObject(late);
  });

  it('OMP-35: under ohMyPi continues while it reports progress', async () => {
    const policy = { preset: 'ohMyPi' };
    const { stage, made, progress } = await running(policy, { onProgress }, { trust: true });
    for (const ms of [25_000, 25_000, 25_000]) {
      await stage.advance(ms);
      progress();
    }
    expect(made.state).toBe('pending');
  });

  it('QW-86: under qwenCode ends after ten minutes, whatever its progress', async () => {
    const policy = { preset: 'qwenCode' };
    const { stage, made, progress } = await running(policy, { onProgress });
    for (const ms of [250_000, 250_000]) {
      await stage.advance(ms);
      progress();
    }
    await stage.advance(99_999);
    expect(made.state).toBe('pending');
    await stage.advance(1);
    expect(made.error).toMatchObject(late);
  });

  it('extends its deadline with each progress notification, up to maxTimeoutMs', async () => {
    const policy = { call: { timeoutMs: 1_000, maxTimeoutMs: 2_500 } };
    const { stage, made, progress } = await running(policy, { onProgress });
    for (const ms of [900, 900]) {
      await stage.advance(ms);
      progress();
    }
    await stage.advance(699);
    expect(made.state).toBe('pending');
    await stage.advance(1);
    expect(made.error).toMatchObject(late);
  });

  it('ends when progress stops', async () => {
    const policy = { call: { timeoutMs: 1_000, maxTimeoutMs: 5_000 } };
    const { stage, made, progress } = await running(policy, { onProgress });
    await stage.advance(900);
    progress();
    await stage.advance(999);
    expect(made.state).toBe('pending');
    await stage.advance(1);
    expect(made.error).toMatchObject(late);
  });

  it.each([
    ['its caller set the deadline', { call: { maxTimeoutMs: 5_000 } }, { timeoutMs: 1_000 }],
    [
      'progress does not extend deadlines',
      { call: { timeoutMs: 1_000, progressResets: false } },
      {},
    ],
    ['there is no maximum timeout', { call: { timeoutMs: 1_000, maxTimeoutMs: null } }, {}],
  ])('ends at its deadline despite progress when %s', async (_why, policy, options) => {
    const { stage, made, progress } = await running(policy, { ...options, onProgress });
    await stage.advance(900);
    progress();
    await stage.advance(99);
    expect(made.state).toBe('pending');
    await stage.advance(1);
    expect(made.error).toMatchObject(late);
  });

  it.each([
    ['its policy', { call: { timeoutMs: 3_000, idleTimeoutMs: 500 } }, {}],
    ['its caller', {}, { idleTimeoutMs: 500, timeoutMs: 3_000 }],
    ['its policy for local servers', { call: { idleTimeoutMs: { local: 500, remote: 9 } } }, {}],
    [
      'its policy for remote servers',
      { call: { idleTimeoutMs: { local: 9, remote: 500 } } },
      {},
      remote,
    ],
  ])(
    'ends after the idle timeout set by %s',
    async (_whose, policy, options, more: object = {}) => {
      const { stage, made, progress } = await running(policy, options, more);
      await stage.advance(400);
      progress();
      await stage.advance(499);
      expect(made.state).toBe('pending');
      await stage.advance(1);
      expect(made.error).toMatchObject(late);
    },
  );

  it("obeys both its caller's idle timeout and its caller's deadline", async () => {
    const { stage, made, progress } = await running({}, { idleTimeoutMs: 500, timeoutMs: 1_000 });
    for (const ms of [400, 400]) {
      await stage.advance(ms);
      progress();
    }
    await stage.advance(199);
    expect(made.state).toBe('pending');
    await stage.advance(1);
    expect(made.error).toMatchObject(late);
  });

  it('rejects an invalid idle timeout', async () => {
    const { made } = await running({}, { idleTimeoutMs: 0 });
    expect(made.error).toMatchObject({ code: 'INVALID_ARGUMENTS', outcome: 'not_executed' });
  });

  it("extends its deadline by its tool's timeout", async () => {
    const tools = { overrides: { query: { timeoutMs: 200 } } };
    const { stage, made, progress } = await running({}, { onProgress }, { tools });
    await stage.advance(150);
    progress();
    await stage.advance(199);
    expect(made.state).toBe('pending');
    await stage.advance(1);
    expect(made.error).toMatchObject(late);
  });
});

describe('a call close to its deadline', () => {
  it('is not sent from the queue', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    for (let n = 0; n < 64; n += 1) call(stage, 'db');
    const made = call(stage, 'db', { timeoutMs: 1_000 });
    await stage.advance(990);
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(made.error).toMatchObject({ code: 'OVERLOADED', outcome: 'not_executed' });
    expect(made.error?.retryable).toBe(true);
    expect(stage.sessions.of('db').calls).toHaveLength(64);
  });

  it('is not sent to a server that becomes ready too late', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }), obedient: [] });
    const made = call(stage, 'db', { timeoutMs: 1_000 });
    await stage.advance(990);
    const script = stage.sessions.of('db');
    script.open();
    script.list([{ name: 'query', inputSchema: { type: 'object' } }]);
    await stage.settle();
    expect(made.error).toMatchObject({ code: 'CONNECTING', outcome: 'not_executed' });
    expect(script.calls).toHaveLength(0);
  });

  it('is sent when its caller set a short timeout', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    const made = call(stage, 'db', { timeoutMs: 5 });
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
  });
});
