import { describe, expect, it } from 'vitest';
import { crash, failure, type Stage, servers, stage, tool } from '../stage.ts';

const two = servers({ db: 'srv', web: 'srv' });
const names = (there: Stage): readonly string[] => there.troupe.tools().map(({ name }) => name);

/** Remembers which servers' tools were told to have changed, one entry for each event. */
function changesOf(there: Stage): string[] {
  const changes: string[] = [];
  there.troupe.on('tools.changed', (event) => changes.push(event.servers.join()));
  return changes;
}

describe('the tool list', () => {
  it('is byte-identical whatever the start order', async () => {
    const texts = new Set<string>();
    for (const order of [
      ['db', 'web'],
      ['web', 'db'],
    ]) {
      const there = await stage({ settings: two, obedient: [] });
      for (const name of order) {
        there.sessions.of(name).open();
        there.sessions.of(name).list([tool('b'), tool('a')]);
        await there.settle();
      }
      texts.add(JSON.stringify(there.troupe.tools()));
    }
    expect(texts.size).toBe(1);
  });

  it('withholds tools that run only as tasks, and says so', async () => {
    const asTask = { execution: { taskSupport: 'required' } };
    const there = await stage({ settings: servers({ db: 'srv' }), obedient: [] });
    there.sessions.of('db').open();
    there.sessions.of('db').list([tool('slow', asTask), tool('quick')]);
    await there.settle();
    expect(names(there)).toEqual(['mcp__db__quick']);
    expect(there.troupe.status('db')).toMatchObject({
      state: 'ready',
      tools: 1,
      toolNotes: [expect.stringMatching(/^withheld .*: slow$/u)],
    });
    expect(there.troupe.logs('db')?.map(({ line }) => line)).toContainEqual(
      expect.stringContaining(': slow'),
    );
    for (const call of [
      there.troupe.callTool('mcp__db__slow'),
      there.troupe.callServerTool('db', 'slow'),
    ])
      await expect(call).rejects.toMatchObject({
        code: 'CAPABILITY_MISSING',
        outcome: 'not_executed',
      });
  });

  it('returns the same array until a tool changes', async () => {
    const there = await stage({ settings: two });
    const before = there.troupe.tools();
    there.sessions.of('db').notify();
    await there.settle();
    there.sessions.of('db').impair('flooding');
    await there.settle();
    expect(there.troupe.tools()).toBe(before);
  });

  it.each(['valueOf', 'toString', 'constructor', 'hasOwnProperty', '__proto__'])(
    'accepts tools with an argument named %s, and treats an equal list as unchanged',
    async (argument) => {
      const listed = (type: string) => {
        const properties = Object.fromEntries([[argument, { type }]]);
        return { ...tool('a'), inputSchema: { type: 'object' as const, properties } };
      };
      const there = await stage({ settings: servers({ db: 'srv' }), obedient: [] });
      const list = async (type: string) => {
        there.sessions.of('db').list([listed(type)]);
        await there.settle();
        return there.troupe.tools();
      };
      there.sessions.of('db').open();
      const before = await list('string');
      there.sessions.of('db').notify();
      await there.settle();
      expect(await list('string')).toBe(before);
      there.sessions.of('db').notify();
      await there.settle();
      const [other] = await list('number');
      expect(other?.inputSchema.properties).toEqual(listed('number').inputSchema.properties);
    },
  );

  it("keeps a crashed server's tools as stale", async () => {
    const there = await stage({ settings: two });
    const before = names(there);
    const changes = changesOf(there);
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(names(there)).toEqual(before);
    expect(there.troupe.tools().map(({ catalog }) => catalog)).toEqual(['stale', 'live']);
    await there.advance(30_000);
    expect(there.troupe.tools().map(({ catalog }) => catalog)).toEqual(['live', 'live']);
    expect(changes).toEqual(['db', 'db']);
  });

  it.each([
    ['replaced', servers({ db: 'newer', web: 'srv' })],
    ['removed', servers({ web: 'srv' })],
    ['excluded', servers({ db: 'srv', web: 'srv' }, { excluded: ['db'] })],
    ['disabled', servers({ db: { command: 'srv', enabled: false }, web: 'srv' })],
  ])("drops a server's tools before its session closes when it is %s", async (_, next) => {
    const there = await stage({ settings: two });
    const changes = changesOf(there);
    const before = there.sessions.of('db');
    there.obedient = new Set();
    there.sessions.onCommand = (script, { type }) => {
      if (script === before && type === 'session.close') {
        // Told in the same breath, so that no call can slip between.
        void Promise.resolve().then(() => seen.push(...names(there)));
      }
    };
    const seen: string[] = [];
    await there.apply(next);
    expect(before.commands.at(-1)).toBe('session.close');
    expect(seen).toEqual(['mcp__web__query']);
    expect(changes).toEqual(['db']);
  });

  it('drops tools listed before an edit even if the new server fails', async () => {
    const there = await stage({ settings: two });
    there.obedient = new Set(['web']);
    const before = there.sessions.of('db');
    await there.apply(servers({ db: 'newer', web: 'srv' }));
    before.closed();
    await there.settle();
    const after = there.sessions.of('db');
    expect(after).not.toBe(before);
    after.open();
    after.fail(failure('protocol'));
    await there.advance(1_000);
    expect(names(there)).toEqual(['mcp__web__query']);
    expect(there.troupe.status('db')).toMatchObject({ catalog: 'none', tools: 0 });
  });

  it("drops a server's tools when it is stopped or gives up", async () => {
    const there = await stage({
      settings: servers({ db: 'srv', web: { command: 'srv', restart: 'never' } }),
    });
    there.troupe.send({ type: 'server.stop', server: 'db' });
    there.sessions.of('web').fail(crash());
    await there.settle();
    expect(there.stateOf('web')).toBe('failed.restartNever');
    expect(names(there)).toEqual([]);
  });

  it('emits one event for each change, with its servers', async () => {
    const there = await stage({ settings: two });
    const changes = changesOf(there);
    there.tools.set('db', [tool('query'), tool('added')]);
    there.sessions.of('db').notify();
    await there.settle();
    expect(changes).toEqual(['db']);
    // A list that says the same again is no change, nor is a new session with the same tools.
    there.sessions.of('db').notify();
    there.troupe.send({ type: 'server.restart', server: 'web' });
    await there.settle();
    expect(changes).toEqual(['db']);
    there.obedient = new Set();
    await there.apply(servers({ db: 'newer', web: 'newer' }));
    expect(changes).toEqual(['db', 'db,web']);
  });

  it('applies a changed filter without touching the session', async () => {
    const there = await stage({ settings: servers({ db: 'srv' }) });
    there.tools.set('db', [tool('read'), tool('write')]);
    there.sessions.of('db').notify();
    await there.settle();
    const changes = changesOf(there);
    await there.apply(servers({ db: { command: 'srv', tools: { include: ['re*'] } } }));
    expect(names(there)).toEqual(['mcp__db__read']);
    expect(there.troupe.status('db')?.tools).toBe(1);
    expect(there.sessions.scripts).toHaveLength(1);
    expect(changes).toEqual(['db']);
  });

  it("shows an idle server's tools as deferred, but no tools from a server that left and returned", async () => {
    const lazy = { command: 'srv', idleStopMs: 5_000 };
    const there = await stage({ settings: servers({ db: lazy }) });
    await there.advance(5_000);
    expect(there.troupe.status('db')).toMatchObject({
      state: 'dormant',
      catalog: 'deferred',
      tools: 1,
    });
    await there.apply(servers({}));
    expect(names(there)).toEqual([]);
    await there.apply(servers({ db: { ...lazy, startup: 'lazy' } }));
    expect(there.troupe.status('db')).toMatchObject({
      state: 'dormant',
      catalog: 'none',
      tools: 0,
    });
  });

  it('distinguishes servers with equal connections', async () => {
    const there = await stage({ settings: two, obedient: [] });
    for (const [name, listed] of [
      ['db', 'one'],
      ['web', 'two'],
    ] as const) {
      there.sessions.of(name).open();
      there.sessions.of(name).list([tool(listed)]);
    }
    await there.settle();
    expect(names(there)).toEqual(['mcp__db__one', 'mcp__web__two']);
  });
});
