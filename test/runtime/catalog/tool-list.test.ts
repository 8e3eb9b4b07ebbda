import { describe, expect, it } from 'vitest';
import { crash, failure, type Stage, servers, stageOf, tool } from '../stage.ts';

const two = servers({ db: 'srv', web: 'srv' });
const names = (stage: Stage): readonly string[] => stage.troupe.tools().map(({ name }) => name);

/** Remembers which servers' tools were told to have changed, one entry for each event. */
function changesOf(stage: Stage): string[] {
  const changes: string[] = [];
  stage.troupe.on('tools.changed', (event) => changes.push(event.servers.join()));
  return changes;
}

describe('the tool list', () => {
  it('is byte-identical whatever the start order', async () => {
    const texts = new Set<string>();
    for (const order of [
      ['db', 'web'],
      ['web', 'db'],
    ]) {
      const stage = await stageOf({ settings: two, obedient: [] });
      for (const name of order) {
        stage.sessions.of(name).open();
        stage.sessions.of(name).list([tool('b'), tool('a')]);
        await stage.settle();
      }
      texts.add(JSON.stringify(stage.troupe.tools()));
    }
    expect(texts.size).toBe(1);
  });

  it('withholds tools that run only as tasks, and says so', async () => {
    const asTask = { execution: { taskSupport: 'required' } };
    const stage = await stageOf({ settings: servers({ db: 'srv' }), obedient: [] });
    stage.sessions.of('db').open();
    stage.sessions.of('db').list([tool('slow', asTask), tool('quick')]);
    await stage.settle();
    expect(names(stage)).toEqual(['mcp__db__quick']);
    expect(stage.troupe.status('db')).toMatchObject({
      state: 'ready',
      tools: 1,
      toolNotes: [expect.stringMatching(/^withheld .*: slow$/u)],
    });
    expect(stage.troupe.logs('db')?.map(({ line }) => line)).toContainEqual(
      expect.stringContaining(': slow'),
    );
    for (const call of [
      stage.troupe.callTool('mcp__db__slow'),
      stage.troupe.callServerTool('db', 'slow'),
    ])
      await expect(call).rejects.toMatchObject({
        code: 'CAPABILITY_MISSING',
        outcome: 'not_executed',
      });
  });

  it('returns the same array until a tool changes', async () => {
    const stage = await stageOf({ settings: two });
    const before = stage.troupe.tools();
    stage.sessions.of('db').notify();
    await stage.settle();
    stage.sessions.of('db').impair('flooding');
    await stage.settle();
    expect(stage.troupe.tools()).toBe(before);
  });

  it.each(['valueOf', 'toString', 'constructor', 'hasOwnProperty', '__proto__'])(
    'accepts tools with an argument named %s, and treats an equal list as unchanged',
    async (argument) => {
      const listed = (type: string) => {
        const properties = Object.fromEntries([[argument, { type }]]);
        return { ...tool('a'), inputSchema: { type: 'object' as const, properties } };
      };
      const stage = await stageOf({ settings: servers({ db: 'srv' }), obedient: [] });
      const list = async (type: string) => {
        stage.sessions.of('db').list([listed(type)]);
        await stage.settle();
        return stage.troupe.tools();
      };
      stage.sessions.of('db').open();
      const before = await list('string');
      stage.sessions.of('db').notify();
      await stage.settle();
      expect(await list('string')).toBe(before);
      stage.sessions.of('db').notify();
      await stage.settle();
      const [other] = await list('number');
      expect(other?.inputSchema.properties).toEqual(listed('number').inputSchema.properties);
    },
  );

  it("keeps a crashed server's tools as stale", async () => {
    const stage = await stageOf({ settings: two });
    const before = names(stage);
    const changes = changesOf(stage);
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(names(stage)).toEqual(before);
    expect(stage.troupe.tools().map(({ catalog }) => catalog)).toEqual(['stale', 'live']);
    await stage.advance(30_000);
    expect(stage.troupe.tools().map(({ catalog }) => catalog)).toEqual(['live', 'live']);
    expect(changes).toEqual(['db', 'db']);
  });

  it.each([
    ['replaced', servers({ db: 'newer', web: 'srv' })],
    ['removed', servers({ web: 'srv' })],
    ['excluded', servers({ db: 'srv', web: 'srv' }, { excluded: ['db'] })],
    ['disabled', servers({ db: { command: 'srv', enabled: false }, web: 'srv' })],
  ])("drops a server's tools before its session closes when it is %s", async (_, next) => {
    const stage = await stageOf({ settings: two });
    const changes = changesOf(stage);
    const before = stage.sessions.of('db');
    stage.obedient = new Set();
    stage.sessions.onCommand = (script, { type }) => {
      if (script === before && type === 'session.close') {
        // Told in the same breath, so that no call can slip between.
        void Promise.resolve().then(() => seen.push(...names(stage)));
      }
    };
    const seen: string[] = [];
    await stage.apply(next);
    expect(before.commands.at(-1)).toBe('session.close');
    expect(seen).toEqual(['mcp__web__query']);
    expect(changes).toEqual(['db']);
  });

  it('drops tools listed before an edit even if the new server fails', async () => {
    const stage = await stageOf({ settings: two });
    stage.obedient = new Set(['web']);
    const before = stage.sessions.of('db');
    await stage.apply(servers({ db: 'newer', web: 'srv' }));
    before.closed();
    await stage.settle();
    const after = stage.sessions.of('db');
    expect(after).not.toBe(before);
    after.open();
    after.fail(failure('protocol'));
    await stage.advance(1_000);
    expect(names(stage)).toEqual(['mcp__web__query']);
    expect(stage.troupe.status('db')).toMatchObject({ catalog: 'none', tools: 0 });
  });

  it("drops a server's tools when it is stopped or gives up", async () => {
    const stage = await stageOf({
      settings: servers({ db: 'srv', web: { command: 'srv', restart: 'never' } }),
    });
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    stage.sessions.of('web').fail(crash());
    await stage.settle();
    expect(stage.stateOf('web')).toBe('failed.restartNever');
    expect(names(stage)).toEqual([]);
  });

  it('emits one event for each change, with its servers', async () => {
    const stage = await stageOf({ settings: two });
    const changes = changesOf(stage);
    stage.tools.set('db', [tool('query'), tool('added')]);
    stage.sessions.of('db').notify();
    await stage.settle();
    expect(changes).toEqual(['db']);
    // A list that says the same again is no change, nor is a new session with the same tools.
    stage.sessions.of('db').notify();
    stage.troupe.send({ type: 'server.restart', server: 'web' });
    await stage.settle();
    expect(changes).toEqual(['db']);
    stage.obedient = new Set();
    await stage.apply(servers({ db: 'newer', web: 'newer' }));
    expect(changes).toEqual(['db', 'db,web']);
  });

  it('applies a changed filter without touching the session', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    stage.tools.set('db', [tool('read'), tool('write')]);
    stage.sessions.of('db').notify();
    await stage.settle();
    const changes = changesOf(stage);
    await stage.apply(servers({ db: { command: 'srv', tools: { include: ['re*'] } } }));
    expect(names(stage)).toEqual(['mcp__db__read']);
    expect(stage.troupe.status('db')?.tools).toBe(1);
    expect(stage.sessions.scripts).toHaveLength(1);
    expect(changes).toEqual(['db']);
  });

  it("shows an idle server's tools as deferred, but no tools from a server that left and returned", async () => {
    const lazy = { command: 'srv', idleStopMs: 5_000 };
    const stage = await stageOf({ settings: servers({ db: lazy }) });
    await stage.advance(5_000);
    expect(stage.troupe.status('db')).toMatchObject({
      state: 'dormant',
      catalog: 'deferred',
      tools: 1,
    });
    await stage.apply(servers({}));
    expect(names(stage)).toEqual([]);
    await stage.apply(servers({ db: { ...lazy, startup: 'lazy' } }));
    expect(stage.troupe.status('db')).toMatchObject({
      state: 'dormant',
      catalog: 'none',
      tools: 0,
    });
  });

  it('distinguishes servers with equal connections', async () => {
    const stage = await stageOf({ settings: two, obedient: [] });
    for (const [name, listed] of [
      ['db', 'one'],
      ['web', 'two'],
    ] as const) {
      stage.sessions.of(name).open();
      stage.sessions.of(name).list([tool(listed)]);
    }
    await stage.settle();
    expect(names(stage)).toEqual(['mcp__db__one', 'mcp__web__two']);
  });
});
