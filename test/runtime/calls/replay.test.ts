import { describe, expect, it } from 'vitest';
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

describe('a lost call of a harmless tool', () => {
  it('is sent once more when its server is trusted, and says that it was', async () => {
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

  it('is not sent a third time, and its outcome is unknown', async () => {
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
    ['its tool promises nothing', tool('query'), trusted],
    ['its policy forbids it', harmless, { ...trusted, policy: { call: { replay: 'never' } } }],
  ])('is not sent again when %s', async (_why, listed, entry) => {
    const there = await staged(listed, entry);
    const made = call(there, 'db');
    await there.settle();
    there.sessions.of('db').fail(crash());
    await there.advance(1_000);
    expect(made.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
    expect(callsOf(there)).toHaveLength(1);
  });

  it('is sent again whatever it promises when the policy accepts two runs', async () => {
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

  it('is not sent again when the tool promises it no more', async () => {
    const there = await staged();
    const made = call(there, 'db');
    await there.settle();
    there.tools.set('db', [tool('query')]);
    there.sessions.of('db').fail(crash());
    await there.advance(1_000);
    expect(made.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
    expect(callsOf(there)).toHaveLength(1);
  });

  it('is not sent again when the trust is gone', async () => {
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
  ])('has an unknown outcome when %s meanwhile', async (_why, happen) => {
    const there = await staged();
    const made = call(there, 'db');
    await there.settle();
    there.sessions.of('db').fail(crash());
    happen(there);
    await there.advance(1_000);
    expect(made.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
  });

  it('has an unknown outcome when its caller gives up meanwhile', async () => {
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

describe('one lost connection', () => {
  it('fails its own calls and no others', async () => {
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
