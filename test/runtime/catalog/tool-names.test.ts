import { describe, expect, it } from 'vitest';
import { pong, type Stage, servers, stage, tool, watch } from '../stage.ts';

// Without its questions before each call.
const ohMyPi = { preset: 'ohMyPi', approval: { perCall: false } };
const lazy = { command: 'srv', startup: 'lazy' };

function names({ troupe }: Stage): readonly string[] {
  return troupe.tools().map(({ name }) => name);
}

/** Calls by an exposed name and answers; what the server was asked for, or the error. */
async function callOf(there: Stage, name: string): Promise<string> {
  const called = watch(there.troupe.callTool(name));
  await there.settle();
  for (const script of there.sessions.scripts) {
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
  const there = await stage({ settings });
  for (const [server, own] of Object.entries(tools)) {
    there.tools.set(
      server,
      own.map((name) => tool(name)),
    );
    there.sessions.of(server).notify();
  }
  await there.settle();
  return there;
}

describe('tool names', () => {
  it('follow a policy change without a new session', async () => {
    const there = await stage({ settings: servers({ db: 'srv', web: 'srv' }) });
    await there.apply(
      servers({
        db: { command: 'srv', policy: { naming: { template: '{server}.{tool}' } } },
        web: 'srv',
      }),
    );
    expect(names(there)).toEqual(['db.query', 'mcp__web__query']);
    expect(there.sessions.scripts).toHaveLength(2);
    expect(await callOf(there, 'db.query')).toBe('db/query');
    expect(await callOf(there, 'mcp__db__query')).toBe('TOOL_UNKNOWN');
  });

  it('resolve to a server whose tools are not known yet', async () => {
    const there = await stage({ settings: servers({ db: lazy }, { policy: 'codeBuddy' }) });
    expect(names(there)).toEqual([]);
    expect(await callOf(there, 'db.query')).toBe('db/query');
  });

  it("do not resolve without a server's prefix before the tools are known", async () => {
    const policy = { naming: { template: '{tool}@{server}' } };
    const there = await stage({ settings: servers({ db: lazy }, { policy }) });
    expect(await callOf(there, 'query@db')).toBe('TOOL_UNKNOWN');
    there.troupe.send({ type: 'server.start', server: 'db' });
    await there.settle();
    expect(names(there)).toEqual(['query_db']);
    expect(await callOf(there, 'query_db')).toBe('db/query');
  });

  it('are omitted with a log line when the policy cannot shorten them', async () => {
    const policy = { naming: { maxLength: 16, overflow: 'error' } };
    const there = await withTools(servers({ db: { command: 'srv', policy } }), {
      db: ['query', 'far_too_long_for_it'],
    });
    expect(names(there)).toEqual(['mcp__db__query']);
    const lines = (): readonly string[] =>
      (there.troupe.logs('db') ?? [])
        .map(({ line }) => line)
        .filter((line) => line.includes('naming'));
    expect(lines()).toEqual([
      'its tool "far_too_long_for_it" is not shown, because its name is too long; see naming of its policy',
    ]);
    there.sessions.of('db').notify();
    await there.settle();
    expect(lines()).toHaveLength(1);
  });

  it('are omitted with a log line each when they collide and the policy says so', async () => {
    const policy = { naming: { template: '{tool}', collision: 'error' } };
    const there = await stage({ settings: servers({ a: 'srv', b: 'srv' }, { policy }) });
    expect(names(there)).toEqual([]);
    for (const server of ['a', 'b']) {
      expect(there.troupe.logs(server)?.map(({ line }) => line)).toContainEqual(
        'its tool "query" is not shown, because another tool has the same name; see naming of its policy',
      );
    }
  });

  it('keep their owner when servers reconnect in another order', async () => {
    const policy = { naming: { template: '{tool}' } };
    const there = await stage({ settings: servers({ a: 'srv', b: 'srv' }, { policy }) });
    const before = JSON.stringify(there.troupe.tools());
    expect(await callOf(there, 'query')).toBe('a/query');
    for (const server of ['a', 'b']) {
      there.troupe.send({ type: 'server.reconnect', server });
      await there.settle();
    }
    expect(JSON.stringify(there.troupe.tools())).toBe(before);
    expect(await callOf(there, 'query')).toBe('a/query');
  });
});

describe('an alias', () => {
  const policy = 'codeBuddy';

  it('resolves to its only candidate', async () => {
    const there = await withTools(servers({ db: 'srv', web: 'srv' }, { policy }), {
      db: ['query'],
      web: ['fetch'],
    });
    expect(await callOf(there, 'query')).toBe('db/query');
    expect(await callOf(there, 'fetch')).toBe('web/fetch');
  });

  it("is rejected with the servers' names when it has two candidates", async () => {
    const there = await stage({ settings: servers({ db: 'srv', web: 'srv' }, { policy }) });
    await expect(there.troupe.callTool('query')).rejects.toMatchObject({
      code: 'TOOL_UNKNOWN',
      outcome: 'not_executed',
      message: 'query may mean several tools, of db, web. Call one by its own name: troupe tools',
    });
  });

  it('is rejected when it has a second, hidden candidate', async () => {
    const hidden = { command: 'srv', tools: { exclude: ['query'] } };
    const there = await stage({ settings: servers({ db: hidden, web: 'srv' }, { policy }) });
    expect(names(there)).toEqual(['web.query']);
    expect(await callOf(there, 'query')).toBe('TOOL_UNKNOWN');
    expect(await callOf(there, 'web.query')).toBe('web/query');
  });

  it('never shadows an exposed name', async () => {
    const naming = { aliases: ['mcp__web__{tool}'] };
    const there = await stage({
      settings: servers({ db: { command: 'srv', policy: { naming } }, web: 'srv' }),
    });
    expect(await callOf(there, 'mcp__web__query')).toBe('web/query');
  });

  it('resolves to a server whose tools are not known yet', async () => {
    const there = await stage({ settings: servers({ db: lazy }, { policy: ohMyPi }) });
    expect(await callOf(there, 'mcp__db__query')).toBe('db/query');
    expect(names(there)).toEqual(['mcp__db_query']);
    expect(await callOf(there, 'mcp__db_query')).toBe('db/query');
  });

  it('is rejected when its server then lists two candidates', async () => {
    const there = await stage({ settings: servers({ db: lazy }, { policy: ohMyPi }) });
    there.tools.set('db', [tool('Query'), tool('query')]);
    expect(await callOf(there, 'mcp__db__query')).toBe('TOOL_UNKNOWN');
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
    const there = await stage({ settings: servers({ db: { command: 'srv', tools } }) });
    expect(names(there)).toEqual([]);
    expect(there.troupe.status('db')?.tools).toBe(0);
    const error = {
      code: 'TOOL_UNKNOWN',
      message: `The tool query of db is ${why}`,
    };
    await expect(there.troupe.callTool('mcp__db__query')).rejects.toMatchObject(error);
    await expect(there.troupe.callServerTool('db', 'query')).rejects.toMatchObject(error);
    expect(there.sessions.of('db').calls).toEqual([]);
  });

  it('reappears in the same session when it is enabled', async () => {
    const tools = { overrides: { query: { enabled: false, timeoutMs: 5 } } };
    const there = await stage({ settings: servers({ db: { command: 'srv', tools } }) });
    await there.apply(servers({ db: 'srv' }));
    expect(names(there)).toEqual(['mcp__db__query']);
    expect(there.sessions.scripts).toHaveLength(1);
  });
});
