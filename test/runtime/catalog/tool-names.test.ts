import { describe, expect, it } from 'vitest';
import { pong, type Stage, servers, stageOf, tool, watch } from '../stage.ts';

// Without its questions before each call.
const ohMyPi = { preset: 'ohMyPi', approval: { perCall: false } };
const lazy = { command: 'srv', startup: 'lazy' };

function names({ troupe }: Stage): readonly string[] {
  return troupe.tools().map(({ name }) => name);
}

/** Calls by an exposed name and answers; what the server was asked for, or the error. */
async function callOf(stage: Stage, name: string): Promise<string> {
  const called = watch(stage.troupe.callTool(name));
  await stage.settle();
  for (const script of stage.sessions.scripts) {
    const sent = script.calls.find(({ isSettled }) => !isSettled);
    if (sent === undefined) continue;
    sent.answer(pong);
    await called.promise;
    return `${script.input.server}/${sent.tool}`;
  }
  await called.promise;
  return called.error?.code ?? called.state;
}

async function withTools(
  settings: Readonly<Record<string, unknown>>,
  tools: Readonly<Record<string, readonly string[]>>,
): Promise<Stage> {
  const stage = await stageOf({ settings });
  for (const [server, own] of Object.entries(tools)) {
    stage.tools.set(
      server,
      own.map((name) => tool(name)),
    );
    stage.sessions.of(server).notify();
  }
  await stage.settle();
  return stage;
}

describe('tool names', () => {
  it('follow a policy change without a new session', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv', web: 'srv' }) });
    await stage.apply(
      servers({
        db: { command: 'srv', policy: { naming: { template: '{server}.{tool}' } } },
        web: 'srv',
      }),
    );
    expect(names(stage)).toEqual(['db.query', 'mcp__web__query']);
    expect(stage.sessions.scripts).toHaveLength(2);
    expect(await callOf(stage, 'db.query')).toBe('db/query');
    expect(await callOf(stage, 'mcp__db__query')).toBe('TOOL_UNKNOWN');
  });

  it('resolve to a server whose tools are not known yet', async () => {
    const stage = await stageOf({ settings: servers({ db: lazy }, { policy: 'codeBuddy' }) });
    expect(names(stage)).toEqual([]);
    expect(await callOf(stage, 'db.query')).toBe('db/query');
  });

  it("do not resolve without a server's prefix before the tools are known", async () => {
    const policy = { naming: { template: '{tool}@{server}' } };
    const stage = await stageOf({ settings: servers({ db: lazy }, { policy }) });
    expect(await callOf(stage, 'query@db')).toBe('TOOL_UNKNOWN');
    stage.troupe.send({ type: 'server.start', server: 'db' });
    await stage.settle();
    expect(names(stage)).toEqual(['query_db']);
    expect(await callOf(stage, 'query_db')).toBe('db/query');
  });

  it('are omitted with a log line when the policy cannot shorten them', async () => {
    const policy = { naming: { maxLength: 16, overflow: 'error' } };
    const stage = await withTools(servers({ db: { command: 'srv', policy } }), {
      db: ['query', 'far_too_long_for_it'],
    });
    expect(names(stage)).toEqual(['mcp__db__query']);
    const lines = (): readonly string[] =>
      (stage.troupe.logs('db') ?? [])
        .map(({ line }) => line)
        .filter((line) => line.includes('naming'));
    expect(lines()).toEqual([
      'its tool "far_too_long_for_it" is not shown, because its name is too long; see naming of its policy',
    ]);
    stage.sessions.of('db').notify();
    await stage.settle();
    expect(lines()).toHaveLength(1);
  });

  it('are omitted with a log line each when they collide and the policy says so', async () => {
    const policy = { naming: { template: '{tool}', collision: 'error' } };
    const stage = await stageOf({ settings: servers({ a: 'srv', b: 'srv' }, { policy }) });
    expect(names(stage)).toEqual([]);
    for (const server of ['a', 'b']) {
      expect(stage.troupe.logs(server)?.map(({ line }) => line)).toContainEqual(
        'its tool "query" is not shown, because another tool has the same name; see naming of its policy',
      );
    }
  });

  it('keep their owner when servers reconnect in another order', async () => {
    const policy = { naming: { template: '{tool}' } };
    const stage = await stageOf({ settings: servers({ a: 'srv', b: 'srv' }, { policy }) });
    const before = JSON.stringify(stage.troupe.tools());
    expect(await callOf(stage, 'query')).toBe('a/query');
    for (const server of ['a', 'b']) {
      stage.troupe.send({ type: 'server.reconnect', server });
      await stage.settle();
    }
    expect(JSON.stringify(stage.troupe.tools())).toBe(before);
    expect(await callOf(stage, 'query')).toBe('a/query');
  });
});

describe('an alias', () => {
  const policy = 'codeBuddy';

  it('resolves to its only candidate', async () => {
    const stage = await withTools(servers({ db: 'srv', web: 'srv' }, { policy }), {
      db: ['query'],
      web: ['fetch'],
    });
    expect(await callOf(stage, 'query')).toBe('db/query');
    expect(await callOf(stage, 'fetch')).toBe('web/fetch');
  });

  it("is rejected with the servers' names when it has two candidates", async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv', web: 'srv' }, { policy }) });
    await expect(stage.troupe.callTool('query')).rejects.toMatchObject({
      code: 'TOOL_UNKNOWN',
      outcome: 'not_executed',
      message: 'query may mean several tools, of db, web. Call one by its own name: troupe tools',
    });
  });

  it('is rejected when it has a second, hidden candidate', async () => {
    const hidden = { command: 'srv', tools: { exclude: ['query'] } };
    const stage = await stageOf({ settings: servers({ db: hidden, web: 'srv' }, { policy }) });
    expect(names(stage)).toEqual(['web.query']);
    expect(await callOf(stage, 'query')).toBe('TOOL_UNKNOWN');
    expect(await callOf(stage, 'web.query')).toBe('web/query');
  });

  it('never shadows an exposed name', async () => {
    const naming = { aliases: ['mcp__web__{tool}'] };
    const stage = await stageOf({
      settings: servers({ db: { command: 'srv', policy: { naming } }, web: 'srv' }),
    });
    expect(await callOf(stage, 'mcp__web__query')).toBe('web/query');
  });

  it('resolves to a server whose tools are not known yet', async () => {
    const stage = await stageOf({ settings: servers({ db: lazy }, { policy: ohMyPi }) });
    expect(await callOf(stage, 'mcp__db__query')).toBe('db/query');
    expect(names(stage)).toEqual(['mcp__db_query']);
    expect(await callOf(stage, 'mcp__db_query')).toBe('db/query');
  });

  it('is rejected when its server then lists two candidates', async () => {
    const stage = await stageOf({ settings: servers({ db: lazy }, { policy: ohMyPi }) });
    stage.tools.set('db', [tool('Query'), tool('query')]);
    expect(await callOf(stage, 'mcp__db__query')).toBe('TOOL_UNKNOWN');
  });
});

describe('a hidden tool', () => {
  it.each([
    [
      'a pattern',
      { exclude: ['que*'] },
      'left out by the settings. Change "tools" of db in /project/troupe.json:3, or list what is shown: troupe tools db',
    ],
    [
      'its own setting',
      { overrides: { query: { enabled: false } } },
      'disabled in /project/troupe.json:3. Enable it: troupe enable db/query',
    ],
  ])('is rejected under every name with the reason: %s', async (_, tools, why) => {
    const stage = await stageOf({ settings: servers({ db: { command: 'srv', tools } }) });
    expect(names(stage)).toEqual([]);
    expect(stage.troupe.status('db')?.tools).toBe(0);
    const error = {
      code: 'TOOL_UNKNOWN',
      message: `The tool query of db is ${why}`,
    };
    await expect(stage.troupe.callTool('mcp__db__query')).rejects.toMatchObject(error);
    await expect(stage.troupe.callServerTool('db', 'query')).rejects.toMatchObject(error);
    expect(stage.sessions.of('db').calls).toEqual([]);
  });

  it('reappears in the same session when it is enabled', async () => {
    const tools = { overrides: { query: { enabled: false, timeoutMs: 5 } } };
    const stage = await stageOf({ settings: servers({ db: { command: 'srv', tools } }) });
    await stage.apply(servers({ db: 'srv' }));
    expect(names(stage)).toEqual(['mcp__db__query']);
    expect(stage.sessions.scripts).toHaveLength(1);
  });
});
