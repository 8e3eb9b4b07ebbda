import { describe, expect, it } from 'vitest';
import { call, callFailure, crash, pong, servers, stageOf, tool, watch } from '../stage.ts';

const db = servers({ db: 'srv' });
const lazy = servers({ db: { command: 'srv', startup: 'lazy' } });

describe('a call', () => {
  it('goes straight to a ready server and reports its duration', async () => {
    const stage = await stageOf({ settings: db });
    const made = watch(stage.troupe.callTool('mcp__db__query', { sql: 'select 1' }));
    await stage.settle();
    const [sent] = stage.sessions.of('db').calls;
    expect(sent).toMatchObject({ tool: 'query', args: { sql: 'select 1' } });

    await stage.advance(40);
    sent?.answer(pong);
    await stage.settle();
    expect(made.value).toEqual({
      result: pong,
      meta: { server: 'db', tool: 'query', attempts: 1, durationMs: 40 },
    });
  });

  it('forwards progress to its caller', async () => {
    const stage = await stageOf({ settings: db });
    const seen: unknown[] = [];
    call(stage, 'db', { onProgress: (news) => seen.push(news) });
    await stage.settle();
    stage.sessions.of('db').calls[0]?.progress({ progress: 1, total: 2 });
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(seen).toEqual([{ progress: 1, total: 2 }]);
  });

  it('resolves with a result that has isError', async () => {
    const stage = await stageOf({ settings: db });
    const made = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer({ content: [], isError: true });
    await stage.settle();
    expect(made).toMatchObject({ state: 'done', value: { result: { isError: true } } });
  });

  it('starts a lazy server and waits until it is ready', async () => {
    const stage = await stageOf({ settings: lazy, obedient: [] });
    expect(stage.stateOf('db')).toBe('dormant');
    const made = call(stage, 'db');
    await stage.settle();
    const script = stage.sessions.of('db');
    expect(stage.stateOf('db')).toBe('connecting');
    script.open();
    await stage.advance(500);
    script.list([tool('query')]);
    await stage.settle();
    script.calls[0]?.answer(pong);
    await stage.settle();
    expect(made).toMatchObject({ state: 'done', value: { meta: { attempts: 1 } } });
  });

  it('waits in every starting state', async () => {
    const settings = servers({ other: 'srv', db: 'srv' }, { slots: { local: 1 } });
    const stage = await stageOf({ settings, obedient: [] });
    expect(stage.stateOf('db')).toBe('queued');
    const early = call(stage, 'db');
    await stage.settle();
    expect(stage.stateOf('db')).toBe('queued');
    stage.sessions.of('other').fail(crash());
    await stage.settle();
    expect(stage.stateOf('db')).toBe('connecting');
    const late = call(stage, 'db');
    stage.sessions.of('db').open();
    await stage.settle();
    expect(stage.stateOf('db')).toBe('loadingTools');
    stage.sessions.of('db').list([tool('query')]);
    await stage.settle();
    for (const sent of stage.sessions.of('db').calls) sent.answer(pong);
    await stage.settle();
    expect([early.state, late.state]).toEqual(['done', 'done']);
  });

  it('fails with CONNECTING exactly at its deadline', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    const made = call(stage, 'db', { timeoutMs: 3_000 });
    await stage.advance(2_999);
    expect(made.state).toBe('pending');
    await stage.advance(1);
    expect(made.error?.toJSON()).toMatchObject({
      code: 'CONNECTING',
      server: 'db',
      outcome: 'not_executed',
      retryable: true,
    });
    // The connect of the server goes on.
    expect(stage.stateOf('db')).toBe('connecting');
  });

  it("waits for a server's next attempt before its deadline", async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(stage.stateOf('db')).toBe('backingOff.retrying');
    const made = call(stage, 'db');
    stage.obedient = null;
    await stage.advance(30_000);
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
  });

  it('ends the first wait of an outage', async () => {
    const stage = await stageOf({ settings: db });
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(stage.stateOf('db')).toBe('backingOff.retrying');
    const made = call(stage, 'db');
    await stage.settle();
    expect(stage.stateOf('db')).toBe('ready');
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
  });

  it('fails immediately with BACKING_OFF when the next attempt is too late', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    stage.sessions.of('db').fail({ ...crash(), retryAfterMs: 20_000 });
    await stage.settle();
    await stage.advance(5_000);
    const made = call(stage, 'db', { timeoutMs: 10_000 });
    await stage.settle();
    expect(made.error?.toJSON()).toMatchObject({
      code: 'BACKING_OFF',
      retryAfterMs: 15_000,
      outcome: 'not_executed',
    });
  });

  it('fails immediately and sends nothing while the circuit is open', async () => {
    const stage = await stageOf({ settings: db });
    const script = stage.sessions.of('db');
    for (let count = 0; count < 5; count += 1) {
      const made = call(stage, 'db');
      await stage.settle();
      script.calls.at(-1)?.fail(callFailure('timeout', true));
      await stage.settle();
      expect(made.error?.code).toBe('TIMEOUT');
    }
    await stage.advance(1_000);
    const refused = call(stage, 'db');
    await stage.settle();
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
    const stage = await stageOf({ settings, obedient: ['stopped'] });
    stage.troupe.send({ type: 'server.stop', server: 'stopped' });
    stage.sessions.of('login').fail({ kind: 'authRequired', message: 'Log in.' });
    await stage.settle();
    const codes = ['stopped', 'off', 'out', 'login', 'bad'].map((name) => call(stage, name));
    await stage.settle();
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
    const stage = await stageOf({ settings });
    stage.obedient = new Set();
    const waiting = watch(stage.troupe.callServerTool('db', 'query'));
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer(pong);
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.apply(servers({ db: 'srv', web: 'srv' }, { excluded: ['web'] }));
    expect([stage.stateOf('db'), stage.stateOf('web')]).toEqual(['stopping', 'stopping']);
    const [toDb, toWeb] = [call(stage, 'db'), call(stage, 'web')];
    await stage.settle();
    expect(waiting.state).toBe('done');
    expect(toDb.error?.code).toBe('STOPPED');
    expect(toWeb.error?.code).toBe('EXCLUDED');
  });

  it('fails with SERVER_REMOVED when its server leaves the settings during the wait', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    const made = call(stage, 'db');
    await stage.settle();
    await stage.apply(servers({}));
    expect(made.state).toBe('pending');
    stage.sessions.of('db').closed();
    await stage.settle();
    expect(made.error?.toJSON()).toMatchObject({
      code: 'SERVER_REMOVED',
      outcome: 'not_executed',
    });
  });

  it('goes to the new generation when its server is replaced during the wait', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    const made = call(stage, 'db');
    await stage.settle();
    const old = stage.sessions.of('db');
    await stage.apply(servers({ db: 'newer' }));
    stage.obedient = null;
    old.closed();
    await stage.settle();
    expect(stage.sessions.of('db')).not.toBe(old);
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
    expect(old.calls).toHaveLength(0);
  });

  it('fails with SHUTTING_DOWN once the troupe stops', async () => {
    const stage = await stageOf({ settings: lazy, obedient: [] });
    const waiting = call(stage, 'db');
    await stage.settle();
    const stopped = stage.troupe.stop();
    await stage.settle();
    expect(waiting.error?.toJSON()).toMatchObject({
      code: 'SHUTTING_DOWN',
      outcome: 'not_executed',
    });
    await stage.advance(5_000);
    await stopped;
    const late = call(stage, 'db');
    await stage.settle();
    expect(late.error?.code).toBe('SHUTTING_DOWN');
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5' as unknown as number])(
    'rejects a deadline of %s ms',
    async (timeoutMs) => {
      const stage = await stageOf({ settings: db });
      const made = call(stage, 'db', { timeoutMs });
      await stage.settle();
      expect(made.error?.code).toBe('INVALID_ARGUMENTS');
      expect(stage.sessions.of('db').calls).toHaveLength(0);
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
    const stage = await stageOf({ settings, obedient: [] });
    stage.sessions.of('db').open();
    stage.sessions.of('db').list([tool('query'), tool('slow')]);
    await stage.settle();
    const endsOf = async (made: { readonly state: string }): Promise<number> => {
      const from = stage.clock.now();
      while (made.state === 'pending') await stage.advance(1_000);
      return stage.clock.now() - from;
    };
    expect(await endsOf(call(stage, 'db', { timeoutMs: 4_000 }))).toBe(4_000);
    expect(await endsOf(call(stage, 'db'))).toBe(20_000);
    expect(await endsOf(call(stage, 'db', { tool: 'slow' }))).toBe(90_000);
    expect(await endsOf(watch(stage.troupe.callTool('mcp__db__slow')))).toBe(90_000);
  });
});

describe("a tool's name", () => {
  it('resolves to its server before the tools are known', async () => {
    const stage = await stageOf({ settings: lazy, obedient: [] });
    const made = watch(stage.troupe.callTool('mcp__db__query'));
    stage.obedient = null;
    await stage.settle();
    stage.sessions.of('db').open();
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
  });

  it('is resolved again once the tools are known and may then be unknown', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    const made = watch(stage.troupe.callTool('mcp__db__qeury'));
    await stage.settle();
    expect(made.state).toBe('pending');
    stage.sessions.of('db').open();
    stage.sessions.of('db').list([tool('query')]);
    await stage.settle();
    expect(made.error?.toJSON()).toMatchObject({
      code: 'TOOL_UNKNOWN',
      outcome: 'not_executed',
      message: expect.stringContaining('Did you mean mcp__db__query?') as string,
    });
  });

  it("is unknown without a server's prefix", async () => {
    const stage = await stageOf({ settings: db });
    const made = watch(stage.troupe.callTool('mcp__dbx__query'));
    await stage.settle();
    expect(made.error?.code).toBe('TOOL_UNKNOWN');
  });

  it('suggests the closest one when its server is unknown', async () => {
    const stage = await stageOf({ settings: servers({ database: 'srv' }) });
    const made = call(stage, 'databse');
    await stage.settle();
    expect(made.error).toMatchObject({ code: 'SERVER_UNKNOWN' });
    expect(made.error?.message).toContain('Did you mean database?');
  });

  it('fails with SERVER_REMOVED when its server has been removed', async () => {
    const stage = await stageOf({ settings: db });
    await stage.apply(servers({}));
    const byExposedName = watch(stage.troupe.callTool('mcp__db__query'));
    const byServer = call(stage, 'db');
    await stage.settle();
    expect([byExposedName.error?.code, byServer.error?.code]).toEqual([
      'SERVER_REMOVED',
      'SERVER_REMOVED',
    ]);
  });

  it('is unknown when a filter hides the tool', async () => {
    const settings = servers({ db: { command: 'srv', tools: { exclude: ['drop_*'] } } });
    const stage = await stageOf({ settings, obedient: [] });
    stage.sessions.of('db').open();
    stage.sessions.of('db').list([tool('query'), tool('drop_all')]);
    await stage.settle();
    const byServer = call(stage, 'db', { tool: 'drop_all' });
    const byExposedName = watch(stage.troupe.callTool('mcp__db__drop_all'));
    await stage.settle();
    expect([byServer.error?.code, byExposedName.error?.code]).toEqual([
      'TOOL_UNKNOWN',
      'TOOL_UNKNOWN',
    ]);
    expect(stage.sessions.of('db').calls).toHaveLength(0);
  });

  it('is resolved by the filters in force after the wait', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    const made = call(stage, 'db');
    await stage.apply(servers({ db: { command: 'srv', tools: { exclude: ['query'] } } }));
    stage.sessions.of('db').open();
    stage.sessions.of('db').list([tool('query')]);
    await stage.settle();
    expect(made.error?.code).toBe('TOOL_UNKNOWN');
  });
});
