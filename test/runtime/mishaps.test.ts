import { describe, expect, it } from 'vitest';
import { createTroupe } from '../../src/index.ts';
import { callFailure, pong, servers, setUp, stage, tool, watch } from './stage.ts';

const db = servers({ db: 'srv' });
const lazy = servers({ db: { command: 'srv', startup: 'lazy' } });

describe('a call that provably never ran', () => {
  it('is retried on the same session if that is still healthy', async () => {
    const there = await stage({ settings: db });
    const made = watch(there.troupe.callServerTool('db', 'query'));
    await there.settle();
    there.sessions.of('db').calls[0]?.fail(callFailure('unavailable', false));
    await there.advance(1_000);
    there.sessions.of('db').calls[1]?.answer(pong);
    await there.settle();
    expect(made.value).toMatchObject({ meta: { attempts: 2 } });
  });

  it('rejects with its own error when it fails again', async () => {
    const there = await stage({ settings: db });
    const made = watch(there.troupe.callServerTool('db', 'query'));
    await there.settle();
    there.sessions.of('db').calls[0]?.fail(callFailure('unavailable', false));
    await there.advance(1_000);
    there.sessions.of('db').calls[1]?.fail(callFailure('unavailable', false));
    await there.settle();
    expect(made.error).toMatchObject({ code: 'UNAVAILABLE', outcome: 'not_executed' });
  });
});

describe('before the settings are read', () => {
  it('a host event does not count as the first pass', async () => {
    const there = setUp({ settings: db });
    const made = watch(there.troupe.callServerTool('db', 'query'));
    const ready = watch(there.troupe.ready());
    there.troupe.send({ type: 'trust.changed', trusted: true });
    expect(ready.state).toBe('pending');
    await there.settle();
    there.sessions.of('db').calls[0]?.answer(pong);
    await there.settle();
    expect(made.state).toBe('done');
    expect(ready.value).toMatchObject({ live: ['db'] });
  });

  it("the host's latest settings apply in the first pass, and nothing starts twice", async () => {
    const there = setUp({ settings: db, hostSettings: servers({ old: 'mine' }) });
    for (const name of ['older', 'own']) {
      there.troupe.send({ type: 'settings.changed', settings: servers({ [name]: 'mine' }) });
    }
    there.troupe.send({ type: 'settings.reload' });
    expect(there.sessions.scripts).toEqual([]);
    await there.advance(1_000);
    const started = there.sessions.scripts.map(({ input }) => input.server);
    expect(started.toSorted()).toEqual(['db', 'own']);
    expect([there.stateOf('db'), there.stateOf('own')]).toEqual(['ready', 'ready']);
  });

  it('a cancelled call rejects with CANCELLED', async () => {
    const there = setUp({ settings: db });
    const aborter = new AbortController();
    const made = watch(there.troupe.callTool('mcp__db__query', {}, { signal: aborter.signal }));
    aborter.abort();
    await there.settle();
    expect(made.error).toMatchObject({ code: 'CANCELLED', outcome: 'not_executed' });
  });
});

describe('a start while the server is being replaced', () => {
  it.each(['server.start', 'server.restart', 'server.reconnect'] as const)(
    'applies to the successor: %s',
    async (type) => {
      const there = await stage({ settings: lazy, obedient: [] });
      there.troupe.send({ type: 'server.start', server: 'db' });
      const changed = { db: { command: 'other', startup: 'lazy' } };
      await there.apply(servers(changed));
      there.troupe.send({ type, server: 'db' });
      there.sessions.of('db').closed();
      await there.settle();
      expect(there.stateOf('db')).toBe('connecting');
    },
  );

  it('is undone by a stop', async () => {
    const there = await stage({ settings: lazy, obedient: [] });
    there.troupe.send({ type: 'server.start', server: 'db' });
    await there.apply(servers({ db: { command: 'other', startup: 'lazy' } }));
    there.troupe.send({ type: 'server.start', server: 'db' });
    there.troupe.send({ type: 'server.stop', server: 'db' });
    there.sessions.of('db').closed();
    await there.settle();
    expect(there.stateOf('db')).toBe('stopped');
  });
});

describe('two servers with the same connection', () => {
  it('do not share their catalogs', async () => {
    const there = await stage({ settings: lazy });
    there.troupe.send({ type: 'server.start', server: 'db' });
    await there.apply(
      servers({
        db: { command: 'srv', startup: 'lazy' },
        twin: { command: 'srv', startup: 'lazy' },
      }),
    );
    expect(there.troupe.status('db')).toMatchObject({ catalog: 'live', tools: 1 });
    expect(there.troupe.status('twin')).toMatchObject({ catalog: 'none', tools: 0 });
  });
});

describe('a root chart that throws', () => {
  it('closes every session and stops reading settings', async () => {
    const there = await stage({ settings: db });
    // An event that no host can send, and that no chart survives.
    const broken = {
      type: 'approval.grant',
      get server(): string {
        throw new Error('broken');
      },
    };
    there.rootOf().send(broken);
    await there.settle();
    expect(there.sessions.of('db').state).toBe('over');
    const reads: string[] = [];
    there.files.onRead = (file) => reads.push(file);
    await there.apply(servers({ other: 'srv' }));
    expect(reads).toEqual([]);
    await there.troupe.stop();
    expect(there.stateOf('db')).toBe('stopped');
  });
});

describe('listeners', () => {
  it('are reported when they reject later, and affect nothing else', async () => {
    const there = await stage({ settings: db });
    // What a host writes as `async () => { … }`.
    const listener: () => unknown = () => Promise.reject(new Error('later'));
    there.troupe.on('status.changed', listener);
    there.sessions.of('db').impair('flooding');
    await there.settle();
    expect(there.errors.map(({ message }) => message)).toContain(
      'A listener of "status.changed" threw.',
    );
  });

  it("cannot modify each other's tool lists", async () => {
    const there = await stage({ settings: db });
    expect(() => {
      (there.troupe.tools() as unknown[]).length = 0;
    }).toThrow(TypeError);
    expect(there.troupe.tools()).toHaveLength(1);
  });
});

describe('data returned to a host', () => {
  it('is frozen', async () => {
    const there = await stage({ settings: db });
    const [shown] = there.troupe.tools();
    const status = there.troupe.status('db');
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
    const { troupe } = await stage({ settings: db });
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
    const there = await stage({ settings: db, obedient: [] });
    const made = watch(there.troupe.waitFor('db', 'ready'));
    await there.advance(60_000);
    expect(made.error).toMatchObject({ code: 'TIMEOUT_WAITING' });
  });
});

describe('a failed tool list on a ready server', () => {
  it('degrades the server until a list succeeds, without failing calls', async () => {
    const there = await stage({ settings: db, obedient: [] });
    there.sessions.of('db').open();
    there.sessions.of('db').list([tool('query')]);
    there.sessions.of('db').notify();
    there.sessions.of('db').failList({ kind: 'protocol', message: 'It made no sense.' });
    expect(there.stateOf('db')).toBe('degraded.partialCatalog');
    expect(there.troupe.status('db')?.lastError?.message).toBe('It made no sense.');
    // A minute of service makes an old failure uninteresting, but not the reason for a state.
    for (const _retry of [1, 2]) {
      await there.advance(30_000);
      there.sessions.of('db').failList({ kind: 'protocol', message: 'It made no sense.' });
    }
    await there.advance(10_000);
    expect(there.troupe.status('db')?.lastError?.message).toBe('It made no sense.');
    await there.advance(20_000);
    there.sessions.of('db').list([tool('query'), tool('more')]);
    await there.settle();
    expect(there.stateOf('db')).toBe('ready');
    expect(there.troupe.status('db')?.tools).toBe(2);
  });
});

describe('idle stops and reconnects', () => {
  it("do not use up a later outage's attempts", async () => {
    const there = await stage({ settings: db });
    for (let round = 0; round < 8; round += 1) {
      there.troupe.send({ type: 'server.reconnect', server: 'db' });
      await there.settle();
    }
    there.sessions.of('db').fail({ kind: 'crashed', message: 'It died.', exitCode: 1 });
    expect(there.stateOf('db')).toBe('backingOff.retrying');
  });
});

describe("a tool's own timeout", () => {
  it('applies even if the tool becomes known during the call', async () => {
    const entry = {
      command: 'srv',
      startup: 'lazy',
      tools: { overrides: { query: { timeoutMs: 90_000 } } },
    };
    const there = await stage({ settings: servers({ db: entry }) });
    const made = watch(there.troupe.callTool('mcp__db__query'));
    await there.advance(80_000);
    expect(made.state).toBe('pending');
    there.sessions.of('db').calls[0]?.answer(pong);
    await there.settle();
    expect(made.state).toBe('done');
  });
});
