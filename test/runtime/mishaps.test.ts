import { describe, expect, it } from 'vitest';
import { createTroupe } from '../../src/index.ts';
import { callFailure, pong, servers, setUp, stageOf, tool, watch } from './stage.ts';

const db = servers({ db: 'srv' });
const lazy = servers({ db: { command: 'srv', startup: 'lazy' } });

describe('a call that provably never ran', () => {
  it('is retried on the same session if that is still healthy', async () => {
    const stage = await stageOf({ settings: db });
    const made = watch(stage.troupe.callServerTool('db', 'query'));
    await stage.settle();
    stage.sessions.of('db').calls[0]?.fail(callFailure('unavailable', false));
    await stage.advance(1_000);
    stage.sessions.of('db').calls[1]?.answer(pong);
    await stage.settle();
    expect(made.value).toMatchObject({ meta: { attempts: 2 } });
  });

  it('rejects with its own error when it fails again', async () => {
    const stage = await stageOf({ settings: db });
    const made = watch(stage.troupe.callServerTool('db', 'query'));
    await stage.settle();
    stage.sessions.of('db').calls[0]?.fail(callFailure('unavailable', false));
    await stage.advance(1_000);
    stage.sessions.of('db').calls[1]?.fail(callFailure('unavailable', false));
    await stage.settle();
    expect(made.error).toMatchObject({ code: 'UNAVAILABLE', outcome: 'not_executed' });
  });
});

describe('before the settings are read', () => {
  it('a host event does not count as the first pass', async () => {
    const stage = setUp({ settings: db });
    const made = watch(stage.troupe.callServerTool('db', 'query'));
    const ready = watch(stage.troupe.ready());
    stage.troupe.send({ type: 'trust.changed', trusted: true });
    expect(ready.state).toBe('pending');
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
    expect(ready.value).toMatchObject({ live: ['db'] });
  });

  it("the host's latest settings apply in the first pass, and nothing starts twice", async () => {
    const stage = setUp({ settings: db, hostSettings: servers({ old: 'mine' }) });
    for (const name of ['older', 'own']) {
      stage.troupe.send({ type: 'settings.changed', settings: servers({ [name]: 'mine' }) });
    }
    stage.troupe.send({ type: 'settings.reload' });
    expect(stage.sessions.scripts).toEqual([]);
    await stage.advance(1_000);
    const started = stage.sessions.scripts.map(({ input }) => input.server);
    expect(started.toSorted()).toEqual(['db', 'own']);
    expect([stage.stateOf('db'), stage.stateOf('own')]).toEqual(['ready', 'ready']);
  });

  it('a cancelled call rejects with CANCELLED', async () => {
    const stage = setUp({ settings: db });
    const aborter = new AbortController();
    const made = watch(stage.troupe.callTool('mcp__db__query', {}, { signal: aborter.signal }));
    aborter.abort();
    await stage.settle();
    expect(made.error).toMatchObject({ code: 'CANCELLED', outcome: 'not_executed' });
  });
});

describe('a start while the server is being replaced', () => {
  it.each(['server.start', 'server.restart', 'server.reconnect'] as const)(
    'applies to the successor: %s',
    async (type) => {
      const stage = await stageOf({ settings: lazy, obedient: [] });
      stage.troupe.send({ type: 'server.start', server: 'db' });
      const changed = { db: { command: 'other', startup: 'lazy' } };
      await stage.apply(servers(changed));
      stage.troupe.send({ type, server: 'db' });
      stage.sessions.of('db').closed();
      await stage.settle();
      expect(stage.stateOf('db')).toBe('connecting');
    },
  );

  it('is undone by a stop', async () => {
    const stage = await stageOf({ settings: lazy, obedient: [] });
    stage.troupe.send({ type: 'server.start', server: 'db' });
    await stage.apply(servers({ db: { command: 'other', startup: 'lazy' } }));
    stage.troupe.send({ type: 'server.start', server: 'db' });
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    stage.sessions.of('db').closed();
    await stage.settle();
    expect(stage.stateOf('db')).toBe('stopped');
  });
});

describe('two servers with the same connection', () => {
  it('do not share their catalogs', async () => {
    const stage = await stageOf({ settings: lazy });
    stage.troupe.send({ type: 'server.start', server: 'db' });
    await stage.apply(
      servers({
        db: { command: 'srv', startup: 'lazy' },
        twin: { command: 'srv', startup: 'lazy' },
      }),
    );
    expect(stage.troupe.status('db')).toMatchObject({ catalog: 'live', tools: 1 });
    expect(stage.troupe.status('twin')).toMatchObject({ catalog: 'none', tools: 0 });
  });
});

describe('a root chart that throws', () => {
  it('closes every session and stops reading settings', async () => {
    const stage = await stageOf({ settings: db });
    // An event that no host can send, and that no chart survives.
    const broken = {
      type: 'approval.grant',
      get server(): string {
        throw new Error('broken');
      },
    };
    stage.rootOf().send(broken);
    await stage.settle();
    expect(stage.sessions.of('db').state).toBe('over');
    const reads: string[] = [];
    stage.files.onRead = (file) => reads.push(file);
    await stage.apply(servers({ other: 'srv' }));
    expect(reads).toEqual([]);
    await stage.troupe.stop();
    expect(stage.stateOf('db')).toBe('stopped');
  });
});

describe('listeners', () => {
  it('are reported when they reject later, and affect nothing else', async () => {
    const stage = await stageOf({ settings: db });
    // What a host writes as `async () => { … }`.
    const listener: () => unknown = () => Promise.reject(new Error('later'));
    stage.troupe.on('status.changed', listener);
    stage.sessions.of('db').impair('flooding');
    await stage.settle();
    expect(stage.errors.map(({ message }) => message)).toContain(
      'A listener of "status.changed" threw.',
    );
  });

  it("cannot modify each other's tool lists", async () => {
    const stage = await stageOf({ settings: db });
    expect(() => {
      (stage.troupe.tools() as unknown[]).length = 0;
    }).toThrow(TypeError);
    expect(stage.troupe.tools()).toHaveLength(1);
  });
});

describe('data returned to a host', () => {
  it('is frozen', async () => {
    const stage = await stageOf({ settings: db });
    const [shown] = stage.troupe.tools();
    const status = stage.troupe.status('db');
    expect(() => Object.assign(shown ?? {}, { name: 'mine' })).toThrow(TypeError);
    expect(() => Object.assign(shown?.inputSchema ?? {}, { type: 'mine' })).toThrow(TypeError);
    expect(() => Object.assign(status ?? {}, { state: 'mine' })).toThrow(TypeError);
  });
});

describe('invalid arguments', () => {
  const options = [{ sources: 'x' }, { bogus: 1 }, { allow: 'all' }, { settings: 5 }];
  it.each(options)('are rejected by name: %j', (wrong) => {
    expect(() => createTroupe(wrong as never)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENTS',
        message: expect.stringContaining(Object.keys(wrong)[0] ?? '') as string,
      }),
    );
  });

  it('are rejected by every method', async () => {
    const { troupe } = await stageOf({ settings: db });
    const invalid = { code: 'INVALID_ARGUMENTS' };
    await expect(troupe.callTool(undefined as never)).rejects.toMatchObject(invalid);
    await expect(troupe.callServerTool('db', null as never)).rejects.toMatchObject(invalid);
    await expect(troupe.waitFor('db', 'happy' as never)).rejects.toMatchObject(invalid);
    expect(() => troupe.on('status.changed', 5 as never)).toThrow(expect.objectContaining(invalid));
    await troupe.stop();
    expect(() => troupe.send({ type: 'settings.reload' })).toThrow(
      expect.objectContaining({ code: 'SHUTTING_DOWN' }),
    );
  });
});

describe('a wait without its own timeout', () => {
  it('times out after a minute', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    const made = watch(stage.troupe.waitFor('db', 'ready'));
    await stage.advance(60_000);
    expect(made.error).toMatchObject({ code: 'TIMEOUT_WAITING' });
  });
});

describe('a failed tool list on a ready server', () => {
  it('degrades the server until a list succeeds, without failing calls', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    stage.sessions.of('db').open();
    stage.sessions.of('db').list([tool('query')]);
    stage.sessions.of('db').notify();
    stage.sessions.of('db').failList({ kind: 'protocol', message: 'It made no sense.' });
    expect(stage.stateOf('db')).toBe('degraded.partialCatalog');
    expect(stage.troupe.status('db')?.lastError?.message).toBe('It made no sense.');
    // A minute of service makes an old failure uninteresting, but not the reason for a state.
    for (const _retry of [1, 2]) {
      await stage.advance(30_000);
      stage.sessions.of('db').failList({ kind: 'protocol', message: 'It made no sense.' });
    }
    await stage.advance(10_000);
    expect(stage.troupe.status('db')?.lastError?.message).toBe('It made no sense.');
    await stage.advance(20_000);
    stage.sessions.of('db').list([tool('query'), tool('more')]);
    await stage.settle();
    expect(stage.stateOf('db')).toBe('ready');
    expect(stage.troupe.status('db')?.tools).toBe(2);
  });
});

describe('idle stops and reconnects', () => {
  it("do not use up a later outage's attempts", async () => {
    const stage = await stageOf({ settings: db });
    for (let round = 0; round < 8; round += 1) {
      stage.troupe.send({ type: 'server.reconnect', server: 'db' });
      await stage.settle();
    }
    stage.sessions.of('db').fail({ kind: 'crashed', message: 'It died.', exitCode: 1 });
    expect(stage.stateOf('db')).toBe('backingOff.retrying');
  });
});

describe("a tool's own timeout", () => {
  it('applies even if the tool becomes known during the call', async () => {
    const entry = {
      command: 'srv',
      startup: 'lazy',
      tools: { overrides: { query: { timeoutMs: 90_000 } } },
    };
    const stage = await stageOf({ settings: servers({ db: entry }) });
    const made = watch(stage.troupe.callTool('mcp__db__query'));
    await stage.advance(80_000);
    expect(made.state).toBe('pending');
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
  });
});
