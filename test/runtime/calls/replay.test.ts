import { describe, expect, it, vi } from 'vitest';
import type { ListedTool } from '../../../src/domain/tool.ts';
import { call, callFailure, crash, pong, type Stage, servers, stageOf, tool } from '../stage.ts';

const harmless = tool('query', { annotations: { readOnlyHint: true } });
const trusted = { command: 'srv', trust: true };

async function staged(listed: ListedTool = harmless, entry: object = trusted): Promise<Stage> {
  const stage = await stageOf({ settings: servers({ db: 'srv' }) });
  stage.tools.set('db', [listed]);
  await stage.apply(servers({ db: entry as Readonly<Record<string, unknown>> }));
  stage.troupe.send({ type: 'server.restart', server: 'db' });
  await stage.advance(1_000);
  return stage;
}

const callsOf = (stage: Stage) => stage.sessions.scripts.flatMap(({ calls }) => calls);

describe('a lost call to a harmless tool', () => {
  it('is retried in a session that lasts, even if its timer fires early', async () => {
    // Node's timers fire up to a millisecond early, and the time passes between two readings.
    for (let early = 0.05; early < 1; early += 0.1) {
      const stage = await staged();
      call(stage, 'db');
      await stage.settle();
      callsOf(stage)[0]?.fail(callFailure('streamLost', true));
      await stage.advance(999);
      const { now } = stage.clock;
      let lag = early;
      vi.spyOn(stage.clock, 'now').mockImplementation(() => {
        lag = Math.max(0, lag - 0.1);
        return now.call(stage.clock) - lag;
      });
      await stage.advance(1);
      await stage.advance(1);
      expect(callsOf(stage)).toHaveLength(2);
    }
  });

  it('is retried once on a trusted server and reports two attempts', async () => {
    const stage = await staged();
    const made = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    await stage.advance(1_000);
    expect(callsOf(stage)).toHaveLength(2);
    callsOf(stage)[1]?.answer(pong);
    await stage.settle();
    expect(made).toMatchObject({ state: 'done', value: { meta: { attempts: 2 } } });
  });

  it('is not sent a third time and reports an unknown outcome', async () => {
    const stage = await staged();
    const made = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    await stage.advance(1_000);
    callsOf(stage)[1]?.fail(callFailure('notSent', false));
    await stage.settle();
    expect(made.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
    await stage.advance(60_000);
    expect(callsOf(stage)).toHaveLength(2);
  });

  it.each([
    ['its server is not trusted', harmless, { command: 'srv' }],
    ['its tool has no annotations', tool('query'), trusted],
    ['its policy forbids it', harmless, { ...trusted, policy: { call: { replay: 'never' } } }],
  ])('is not retried when %s', async (_why, listed, entry) => {
    const stage = await staged(listed, entry);
    const made = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    await stage.advance(1_000);
    expect(made.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
    expect(callsOf(stage)).toHaveLength(1);
  });

  it('is retried despite its annotations when the policy accepts two runs', async () => {
    const stage = await staged(tool('query'), {
      command: 'srv',
      policy: { call: { replay: 'once' } },
    });
    const made = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    await stage.advance(1_000);
    callsOf(stage)[1]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
  });

  it('is not retried once the tool drops its annotation', async () => {
    const stage = await staged();
    const made = call(stage, 'db');
    await stage.settle();
    stage.tools.set('db', [tool('query')]);
    stage.sessions.of('db').fail(crash());
    await stage.advance(1_000);
    expect(made.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
    expect(callsOf(stage)).toHaveLength(1);
  });

  it('is not retried once the folder is no longer trusted', async () => {
    const stage = await staged();
    const made = call(stage, 'db');
    await stage.settle();
    stage.troupe.send({ type: 'trust.changed', trusted: false });
    stage.sessions.of('db').fail(crash());
    await stage.advance(60_000);
    expect(made.error).toMatchObject({ outcome: 'unknown' });
    expect(callsOf(stage)).toHaveLength(1);
  });

  it('is not retried once the server is no longer trusted', async () => {
    const stage = await staged();
    const made = call(stage, 'db');
    await stage.settle();
    stage.obedient = new Set();
    stage.sessions.of('db').fail(crash());
    await stage.apply(servers({ db: { command: 'srv' } }));
    stage.obedient = null;
    await stage.advance(60_000);
    expect(made.error).toMatchObject({ outcome: 'unknown' });
    expect(callsOf(stage)).toHaveLength(1);
  });

  it.each([
    ['its tool is gone', (stage: Stage) => void stage.tools.set('db', [tool('other')])],
    [
      'its server is stopped',
      (stage: Stage) => stage.troupe.send({ type: 'server.stop', server: 'db' }),
    ],
    ['the troupe stops', (stage: Stage) => void stage.troupe.stop()],
  ])('reports an unknown outcome when %s before the retry', async (_why, happen) => {
    const stage = await staged();
    const made = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    happen(stage);
    await stage.advance(1_000);
    expect(made.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
  });

  it('reports an unknown outcome when its caller aborts before the retry', async () => {
    const stage = await staged();
    const controller = new AbortController();
    const made = call(stage, 'db', { signal: controller.signal });
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    controller.abort();
    await stage.settle();
    expect(made.error).toMatchObject({ code: 'CANCELLED', outcome: 'unknown' });
  });
});

describe('a lost connection', () => {
  it('fails only its own calls', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv', other: 'srv' }) });
    const own = [call(stage, 'db'), call(stage, 'db')];
    const others = [call(stage, 'other'), call(stage, 'other')];
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(own.map(({ error }) => error?.code)).toEqual(['CRASHED', 'CRASHED']);
    expect(others.map(({ state }) => state)).toEqual(['pending', 'pending']);
    for (const each of stage.sessions.of('other').calls) each.answer(pong);
    await stage.settle();
    expect(others.map(({ state }) => state)).toEqual(['done', 'done']);
  });
});
