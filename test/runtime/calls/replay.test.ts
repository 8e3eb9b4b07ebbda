import { describe, expect, it, vi } from 'vitest';
import type { ListedTool } from '../../../src/domain/tool.ts';
import { call, callFailure, crash, pong, type Stage, servers, stage, tool } from '../stage.ts';

const harmless = tool('query', { annotations: { readOnlyHint: true } });
const trusted = { command: 'srv', trust: true };

async function staged(listed: ListedTool = harmless, entry: object = trusted): Promise<Stage> {
  const there = await stage({ settings: servers({ db: 'srv' }) });
  there.tools.set('db', [listed]);
  await there.apply(servers({ db: entry as Readonly<Record<string, unknown>> }));
  there.troupe.send({ type: 'server.restart', server: 'db' });
  await there.advance(1_000);
  return there;
}

const callsOf = (there: Stage) => there.sessions.scripts.flatMap(({ calls }) => calls);

describe('a lost call to a harmless tool', () => {
  it('is retried in a session that lasts, even if its timer fires early', async () => {
    // Node's timers fire up to a millisecond early, and the time passes between two readings.
    for (let early = 0.05; early < 1; early += 0.1) {
      const there = await staged();
      call(there, 'db');
      await there.settle();
      callsOf(there)[0]?.fail(callFailure('streamLost', true));
      await there.advance(999);
      const { now } = there.clock;
      let lag = early;
      vi.spyOn(there.clock, 'now').mockImplementation(() => {
        lag = Math.max(0, lag - 0.1);
        return now.call(there.clock) - lag;
      });
      await there.advance(1);
      await there.advance(1);
      expect(callsOf(there)).toHaveLength(2);
    }
  });

  it('is retried once on a trusted server and reports two attempts', async () => {
    const there = await staged();
    const made = call(there, 'db');
    await there.settle();
    there.sessions.of('db').fail(crash());
    await there.advance(1_000);
    expect(callsOf(there)).toHaveLength(2);
    callsOf(there)[1]?.answer(pong);
    await there.settle();
    expect(made).toMatchObject({ state: 'done', value: { meta: { attempts: 2 } } });
  });

  it('is not sent a third time and reports an unknown outcome', async () => {
    const there = await staged();
    const made = call(there, 'db');
    await there.settle();
    there.sessions.of('db').fail(crash());
    await there.advance(1_000);
    callsOf(there)[1]?.fail(callFailure('notSent', false));
    await there.settle();
    expect(made.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
    await there.advance(60_000);
    expect(callsOf(there)).toHaveLength(2);
  });

  it.each([
    ['its server is not trusted', harmless, { command: 'srv' }],
    ['its tool has no annotations', tool('query'), trusted],
    ['its policy forbids it', harmless, { ...trusted, policy: { call: { replay: 'never' } } }],
  ])('is not retried when %s', async (_why, listed, entry) => {
    const there = await staged(listed, entry);
    const made = call(there, 'db');
    await there.settle();
    there.sessions.of('db').fail(crash());
    await there.advance(1_000);
    expect(made.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
    expect(callsOf(there)).toHaveLength(1);
  });

  it('is retried despite its annotations when the policy accepts two runs', async () => {
    const there = await staged(tool('query'), {
      command: 'srv',
      policy: { call: { replay: 'once' } },
    });
    const made = call(there, 'db');
    await there.settle();
    there.sessions.of('db').fail(crash());
    await there.advance(1_000);
    callsOf(there)[1]?.answer(pong);
    await there.settle();
    expect(made.state).toBe('done');
  });

  it('is not retried once the tool drops its annotation', async () => {
    const there = await staged();
    const made = call(there, 'db');
    await there.settle();
    there.tools.set('db', [tool('query')]);
    there.sessions.of('db').fail(crash());
    await there.advance(1_000);
    expect(made.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
    expect(callsOf(there)).toHaveLength(1);
  });

  it('is not retried once the folder is no longer trusted', async () => {
    const there = await staged();
    const made = call(there, 'db');
    await there.settle();
    there.troupe.send({ type: 'trust.changed', trusted: false });
    there.sessions.of('db').fail(crash());
    await there.advance(60_000);
    expect(made.error).toMatchObject({ outcome: 'unknown' });
    expect(callsOf(there)).toHaveLength(1);
  });

  it('is not retried once the server is no longer trusted', async () => {
    const there = await staged();
    const made = call(there, 'db');
    await there.settle();
    there.obedient = new Set();
    there.sessions.of('db').fail(crash());
    await there.apply(servers({ db: { command: 'srv' } }));
    there.obedient = null;
    await there.advance(60_000);
    expect(made.error).toMatchObject({ outcome: 'unknown' });
    expect(callsOf(there)).toHaveLength(1);
  });

  it.each([
    ['its tool is gone', (there: Stage) => void there.tools.set('db', [tool('other')])],
    [
      'its server is stopped',
      (there: Stage) => there.troupe.send({ type: 'server.stop', server: 'db' }),
    ],
    ['the troupe stops', (there: Stage) => void there.troupe.stop()],
  ])('reports an unknown outcome when %s before the retry', async (_why, happen) => {
    const there = await staged();
    const made = call(there, 'db');
    await there.settle();
    there.sessions.of('db').fail(crash());
    happen(there);
    await there.advance(1_000);
    expect(made.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
  });

  it('reports an unknown outcome when its caller aborts before the retry', async () => {
    const there = await staged();
    const controller = new AbortController();
    const made = call(there, 'db', { signal: controller.signal });
    await there.settle();
    there.sessions.of('db').fail(crash());
    await there.settle();
    controller.abort();
    await there.settle();
    expect(made.error).toMatchObject({ code: 'CANCELLED', outcome: 'unknown' });
  });
});

describe('a lost connection', () => {
  it('fails only its own calls', async () => {
    const there = await stage({ settings: servers({ db: 'srv', other: 'srv' }) });
    const own = [call(there, 'db'), call(there, 'db')];
    const others = [call(there, 'other'), call(there, 'other')];
    await there.settle();
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(own.map(({ error }) => error?.code)).toEqual(['CRASHED', 'CRASHED']);
    expect(others.map(({ state }) => state)).toEqual(['pending', 'pending']);
    for (const each of there.sessions.of('other').calls) each.answer(pong);
    await there.settle();
    expect(others.map(({ state }) => state)).toEqual(['done', 'done']);
  });
});
