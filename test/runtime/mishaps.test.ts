import { describe, expect, it } from 'vitest';
import { createTroupe } from '../../src/index.ts';
import { callFailure, pong, servers, setUp, stage, tool, watch } from './stage.ts';

const db = servers({ db: 'srv' });
const lazy = servers({ db: { command: 'srv', startup: 'lazy' } });

describe('a call that provably never ran', () => {
  it('is sent again on the same session when that turns out to be fine', async () => {
    const there = await stage({ settings: db });
    const made = watch(there.troupe.callServerTool('db', 'query'));
    await there.settle();
    there.sessions.of('db').calls[0]?.fail(callFailure('unavailable', false));
    await there.advance(1_000);
    there.sessions.of('db').calls[1]?.answer(pong);
    await there.settle();
    expect(made.value).toMatchObject({ meta: { attempts: 2 } });
  });

  it('ends with its own error when it fails again', async () => {
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
  it('an event of the host is no first pass', async () => {
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

  it('settings of the host count in the first pass, the last ones, and nothing starts twice', async () => {
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

  it('a call is cancelled as such', async () => {
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
    'is handed to the successor: %s',
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

  it('is taken back by a stop', async () => {
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
  it('do not share what is known of their tools', async () => {
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

describe('a root that breaks', () => {
  it('leaves no session open, and reads no settings any more', async () => {
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
  it('that reject later are reported and affect nothing else', async () => {
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

  it('cannot change the list of tools for others', async () => {
    const there = await stage({ settings: db });
    expect(() => {
      (there.troupe.tools() as unknown[]).length = 0;
    }).toThrow(TypeError);
    expect(there.troupe.tools()).toHaveLength(1);
  });
});

describe('what a host is handed', () => {
  it('cannot be changed by a caller', async () => {
    const there = await stage({ settings: db });
    const [shown] = there.troupe.tools();
    const status = there.troupe.status('db');
    expect(() => Object.assign(shown ?? {}, { name: 'mine' })).toThrow(TypeError);
    expect(() => Object.assign(shown?.inputSchema ?? {}, { type: 'mine' })).toThrow(TypeError);
    expect(() => Object.assign(status ?? {}, { state: 'mine' })).toThrow(TypeError);
  });
});

describe('arguments that cannot be meant', () => {
  const options = [{ sources: 'x' }, { bogus: 1 }, { allow: 'all' }, { settings: 5 }];
  it.each(options)('are refused with their name: %j', (wrong) => {
    expect(() => createTroupe(wrong as never)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENTS',
        message: expect.stringContaining(Object.keys(wrong)[0] ?? '') as string,
      }),
    );
  });

  it('are refused by every method', async () => {
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

describe('a wait without a limit of its own', () => {
  it('ends after a minute', async () => {
    const there = await stage({ settings: db, obedient: [] });
    const made = watch(there.troupe.waitFor('db', 'ready'));
    await there.advance(60_000);
    expect(made.error).toMatchObject({ code: 'TIMEOUT_WAITING' });
  });
});

describe('a list of tools that fails in a ready server', () => {
  it('shows as degraded until a list succeeds, and calls go on', async () => {
    const there = await stage({ settings: db, obedient: [] });
    there.sessions.of('db').open();
    there.sessions.of('db').list([tool('query')]);
    there.sessions.of('db').notify();
    there.sessions.of('db').failList({ kind: 'protocol', message: 'It made no sense.' });
    expect(there.stateOf('db')).toBe('degraded.partialCatalog');
    expect(there.troupe.status('db')?.lastError?.message).toBe('It made no sense.');
    await there.advance(30_000);
    there.sessions.of('db').list([tool('query'), tool('more')]);
    await there.settle();
    expect(there.stateOf('db')).toBe('ready');
    expect(there.troupe.status('db')?.tools).toBe(2);
  });
});

describe('idle stops and reconnects', () => {
  it('use up no attempt of a later outage', async () => {
    const there = await stage({ settings: db });
    for (let round = 0; round < 8; round += 1) {
      there.troupe.send({ type: 'server.reconnect', server: 'db' });
      await there.settle();
    }
    there.sessions.of('db').fail({ kind: 'crashed', message: 'It died.', exitCode: 1 });
    expect(there.stateOf('db')).toBe('backingOff.retrying');
  });
});

describe('a deadline of one tool', () => {
  it('counts also when the tool is known only after the server started', async () => {
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
