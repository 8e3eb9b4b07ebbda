import { describe, expect, it } from 'vitest';
import { call, callFailure, crash, pong, servers, stage, tool, watch } from '../stage.ts';

const db = servers({ db: 'srv' });
const lazy = servers({ db: { command: 'srv', startup: 'lazy' } });

describe('a call', () => {
  it('goes straight to a ready server and reports its duration', async () => {
    const there = await stage({ settings: db });
    const made = watch(there.troupe.callTool('mcp__db__query', { sql: 'select 1' }));
    await there.settle();
    const [sent] = there.sessions.of('db').calls;
    expect(sent).toMatchObject({ tool: 'query', args: { sql: 'select 1' } });

    await there.advance(40);
    sent?.answer(pong);
    await there.settle();
    expect(made.value).toEqual({
      result: pong,
      meta: { server: 'db', tool: 'query', attempts: 1, durationMs: 40 },
    });
  });

  it('forwards progress to its caller', async () => {
    const there = await stage({ settings: db });
    const seen: unknown[] = [];
    call(there, 'db', { onProgress: (news) => seen.push(news) });
    await there.settle();
    there.sessions.of('db').calls[0]?.progress({ progress: 1, total: 2 });
    there.sessions.of('db').calls[0]?.answer(pong);
    await there.settle();
    expect(seen).toEqual([{ progress: 1, total: 2 }]);
  });

  it('resolves with a result that has isError', async () => {
    const there = await stage({ settings: db });
    const made = call(there, 'db');
    await there.settle();
    there.sessions.of('db').calls[0]?.answer({ content: [], isError: true });
    await there.settle();
    expect(made).toMatchObject({ state: 'done', value: { result: { isError: true } } });
  });

  it('starts a lazy server and waits until it is ready', async () => {
    const there = await stage({ settings: lazy, obedient: [] });
    expect(there.stateOf('db')).toBe('dormant');
    const made = call(there, 'db');
    await there.settle();
    const script = there.sessions.of('db');
    expect(there.stateOf('db')).toBe('connecting');
    script.open();
    await there.advance(500);
    script.list([tool('query')]);
    await there.settle();
    script.calls[0]?.answer(pong);
    await there.settle();
    expect(made).toMatchObject({ state: 'done', value: { meta: { attempts: 1 } } });
  });

  it('waits in every starting state', async () => {
    const settings = servers({ other: 'srv', db: 'srv' }, { slots: { local: 1 } });
    const there = await stage({ settings, obedient: [] });
    expect(there.stateOf('db')).toBe('queued');
    const early = call(there, 'db');
    await there.settle();
    expect(there.stateOf('db')).toBe('queued');
    there.sessions.of('other').fail(crash());
    await there.settle();
    expect(there.stateOf('db')).toBe('connecting');
    const late = call(there, 'db');
    there.sessions.of('db').open();
    await there.settle();
    expect(there.stateOf('db')).toBe('loadingTools');
    there.sessions.of('db').list([tool('query')]);
    await there.settle();
    for (const sent of there.sessions.of('db').calls) sent.answer(pong);
    await there.settle();
    expect([early.state, late.state]).toEqual(['done', 'done']);
  });

  it('fails with CONNECTING exactly at its deadline', async () => {
    const there = await stage({ settings: db, obedient: [] });
    const made = call(there, 'db', { timeoutMs: 3_000 });
    await there.advance(2_999);
    expect(made.state).toBe('pending');
    await there.advance(1);
    expect(made.error?.toJSON()).toMatchObject({
      code: 'CONNECTING',
      server: 'db',
      outcome: 'not_executed',
      retryable: true,
    });
    // The connect of the server goes on.
    expect(there.stateOf('db')).toBe('connecting');
  });

  it("waits for a server's next attempt before its deadline", async () => {
    const there = await stage({ settings: db, obedient: [] });
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(there.stateOf('db')).toBe('backingOff.retrying');
    const made = call(there, 'db');
    there.obedient = null;
    await there.advance(30_000);
    there.sessions.of('db').calls[0]?.answer(pong);
    await there.settle();
    expect(made.state).toBe('done');
  });

  it('ends the first wait of an outage', async () => {
    const there = await stage({ settings: db });
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(there.stateOf('db')).toBe('backingOff.retrying');
    const made = call(there, 'db');
    await there.settle();
    expect(there.stateOf('db')).toBe('ready');
    there.sessions.of('db').calls[0]?.answer(pong);
    await there.settle();
    expect(made.state).toBe('done');
  });

  it('fails immediately with BACKING_OFF when the next attempt is too late', async () => {
    const there = await stage({ settings: db, obedient: [] });
    there.sessions.of('db').fail({ ...crash(), retryAfterMs: 20_000 });
    await there.settle();
    await there.advance(5_000);
    const made = call(there, 'db', { timeoutMs: 10_000 });
    await there.settle();
    expect(made.error?.toJSON()).toMatchObject({
      code: 'BACKING_OFF',
      retryAfterMs: 15_000,
      outcome: 'not_executed',
    });
  });

  it('fails immediately and sends nothing while the circuit is open', async () => {
    const there = await stage({ settings: db });
    const script = there.sessions.of('db');
    for (let count = 0; count < 5; count += 1) {
      const made = call(there, 'db');
      await there.settle();
      script.calls.at(-1)?.fail(callFailure('timeout', true));
      await there.settle();
      expect(made.error?.code).toBe('TIMEOUT');
    }
    await there.advance(1_000);
    const refused = call(there, 'db');
    await there.settle();
    expect(refused.error?.toJSON()).toMatchObject({
      code: 'CIRCUIT_OPEN',
      retryAfterMs: 29_000,
      outcome: 'not_executed',
    });
    expect(script.calls).toHaveLength(5);
  });

  it('fails immediately for a stopped, disabled, excluded or user-dependent server', async () => {
    const settings = servers(
      { stopped: 'a', off: { command: 'b', enabled: false }, out: 'c', login: 'd', bad: {} },
      { excluded: ['out'] },
    );
    const there = await stage({ settings, obedient: ['stopped'] });
    there.troupe.send({ type: 'server.stop', server: 'stopped' });
    there.sessions.of('login').fail({ kind: 'authRequired', message: 'Log in.' });
    await there.settle();
    const codes = ['stopped', 'off', 'out', 'login', 'bad'].map((name) => call(there, name));
    await there.settle();
    expect(codes.map(({ error }) => error?.code)).toEqual([
      'STOPPED',
      'DISABLED',
      'EXCLUDED',
      'AUTH_REQUIRED',
      'INVALID_CONFIG',
    ]);
  });

  it('fails immediately while a server closes for good', async () => {
    const settings = servers({ db: 'srv', web: 'srv' });
    const there = await stage({ settings });
    there.obedient = new Set();
    const waiting = watch(there.troupe.callServerTool('db', 'query'));
    await there.settle();
    there.sessions.of('db').calls[0]?.answer(pong);
    there.troupe.send({ type: 'server.stop', server: 'db' });
    await there.apply(servers({ db: 'srv', web: 'srv' }, { excluded: ['web'] }));
    expect([there.stateOf('db'), there.stateOf('web')]).toEqual(['stopping', 'stopping']);
    const [toDb, toWeb] = [call(there, 'db'), call(there, 'web')];
    await there.settle();
    expect(waiting.state).toBe('done');
    expect(toDb.error?.code).toBe('STOPPED');
    expect(toWeb.error?.code).toBe('EXCLUDED');
  });

  it('fails with SERVER_REMOVED when its server leaves the settings during the wait', async () => {
    const there = await stage({ settings: db, obedient: [] });
    const made = call(there, 'db');
    await there.settle();
    await there.apply(servers({}));
    expect(made.state).toBe('pending');
    there.sessions.of('db').closed();
    await there.settle();
    expect(made.error?.toJSON()).toMatchObject({
      code: 'SERVER_REMOVED',
      outcome: 'not_executed',
    });
  });

  it('goes to the new generation when its server is replaced during the wait', async () => {
    const there = await stage({ settings: db, obedient: [] });
    const made = call(there, 'db');
    await there.settle();
    const old = there.sessions.of('db');
    await there.apply(servers({ db: 'newer' }));
    there.obedient = null;
    old.closed();
    await there.settle();
    expect(there.sessions.of('db')).not.toBe(old);
    there.sessions.of('db').calls[0]?.answer(pong);
    await there.settle();
    expect(made.state).toBe('done');
    expect(old.calls).toHaveLength(0);
  });

  it('fails with SHUTTING_DOWN once the troupe stops', async () => {
    const there = await stage({ settings: lazy, obedient: [] });
    const waiting = call(there, 'db');
    await there.settle();
    const stopped = there.troupe.stop();
    await there.settle();
    expect(waiting.error?.toJSON()).toMatchObject({
      code: 'SHUTTING_DOWN',
      outcome: 'not_executed',
    });
    await there.advance(5_000);
    await stopped;
    const late = call(there, 'db');
    await there.settle();
    expect(late.error?.code).toBe('SHUTTING_DOWN');
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5' as unknown as number])(
    'rejects a deadline of %s ms',
    async (timeoutMs) => {
      const there = await stage({ settings: db });
      const made = call(there, 'db', { timeoutMs });
      await there.settle();
      expect(made.error?.code).toBe('INVALID_ARGUMENTS');
      expect(there.sessions.of('db').calls).toHaveLength(0);
    },
  );

  it("prefers its own deadline to its tool's and its tool's to its server's", async () => {
    const settings = servers({
      db: {
        command: 'srv',
        timeoutMs: 20_000,
        tools: { overrides: { slow: { timeoutMs: 90_000 } } },
      },
    });
    const there = await stage({ settings, obedient: [] });
    there.sessions.of('db').open();
    there.sessions.of('db').list([tool('query'), tool('slow')]);
    await there.settle();
    const endsOf = async (made: { readonly state: string }): Promise<number> => {
      const from = there.clock.now();
      while (made.state === 'pending') await there.advance(1_000);
      return there.clock.now() - from;
    };
    expect(await endsOf(call(there, 'db', { timeoutMs: 4_000 }))).toBe(4_000);
    expect(await endsOf(call(there, 'db'))).toBe(20_000);
    expect(await endsOf(call(there, 'db', { tool: 'slow' }))).toBe(90_000);
    expect(await endsOf(watch(there.troupe.callTool('mcp__db__slow')))).toBe(90_000);
  });
});

describe("a tool's name", () => {
  it('resolves to its server before the tools are known', async () => {
    const there = await stage({ settings: lazy, obedient: [] });
    const made = watch(there.troupe.callTool('mcp__db__query'));
    there.obedient = null;
    await there.settle();
    there.sessions.of('db').open();
    await there.settle();
    there.sessions.of('db').calls[0]?.answer(pong);
    await there.settle();
    expect(made.state).toBe('done');
  });

  it('is resolved again once the tools are known and may then be unknown', async () => {
    const there = await stage({ settings: db, obedient: [] });
    const made = watch(there.troupe.callTool('mcp__db__qeury'));
    await there.settle();
    expect(made.state).toBe('pending');
    there.sessions.of('db').open();
    there.sessions.of('db').list([tool('query')]);
    await there.settle();
    expect(made.error?.toJSON()).toMatchObject({
      code: 'TOOL_UNKNOWN',
      outcome: 'not_executed',
      message: expect.stringContaining('Did you mean mcp__db__query?') as string,
    });
  });

  it("is unknown without a server's prefix", async () => {
    const there = await stage({ settings: db });
    const made = watch(there.troupe.callTool('mcp__dbx__query'));
    await there.settle();
    expect(made.error?.code).toBe('TOOL_UNKNOWN');
  });

  it('suggests the closest one when its server is unknown', async () => {
    const there = await stage({ settings: servers({ database: 'srv' }) });
    const made = call(there, 'databse');
    await there.settle();
    expect(made.error).toMatchObject({ code: 'SERVER_UNKNOWN' });
    expect(made.error?.message).toContain('Did you mean database?');
  });

  it('fails with SERVER_REMOVED when its server has been removed', async () => {
    const there = await stage({ settings: db });
    await there.apply(servers({}));
    const byExposedName = watch(there.troupe.callTool('mcp__db__query'));
    const byServer = call(there, 'db');
    await there.settle();
    expect([byExposedName.error?.code, byServer.error?.code]).toEqual([
      'SERVER_REMOVED',
      'SERVER_REMOVED',
    ]);
  });

  it('is unknown when a filter hides the tool', async () => {
    const settings = servers({ db: { command: 'srv', tools: { exclude: ['drop_*'] } } });
    const there = await stage({ settings, obedient: [] });
    there.sessions.of('db').open();
    there.sessions.of('db').list([tool('query'), tool('drop_all')]);
    await there.settle();
    const byServer = call(there, 'db', { tool: 'drop_all' });
    const byExposedName = watch(there.troupe.callTool('mcp__db__drop_all'));
    await there.settle();
    expect([byServer.error?.code, byExposedName.error?.code]).toEqual([
      'TOOL_UNKNOWN',
      'TOOL_UNKNOWN',
    ]);
    expect(there.sessions.of('db').calls).toHaveLength(0);
  });

  it('is resolved by the filters in force after the wait', async () => {
    const there = await stage({ settings: db, obedient: [] });
    const made = call(there, 'db');
    await there.apply(servers({ db: { command: 'srv', tools: { exclude: ['query'] } } }));
    there.sessions.of('db').open();
    there.sessions.of('db').list([tool('query')]);
    await there.settle();
    expect(made.error?.code).toBe('TOOL_UNKNOWN');
  });
});
