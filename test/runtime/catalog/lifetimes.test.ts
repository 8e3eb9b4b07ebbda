import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import { crash, remote, type Stage, servers, stage, tool } from '../stage.ts';
import { createStore, known, shownBy } from './stored-catalogs.ts';

describe('a remembered catalog', () => {
  const minute = 60_000;
  const day = 86_400_000;
  const changesOf = ({ troupe }: Stage): unknown[] => {
    const changes: unknown[] = [];
    troupe.on('tools.changed', ({ servers: changed }) => changes.push(...changed));
    return changes;
  };
  const lose = async (there: Stage, ...names: readonly string[]) => {
    there.obedient = new Set();
    for (const name of names) {
      there.sessions.of(name).fail(crash());
      await there.advance(10);
    }
  };
  const briefly = { policy: { catalog: { cache: 'memory', ttlMs: 5 * minute } } };

  it('is forgotten when its server has not been live for ttlMs', async () => {
    const there = await stage({ settings: servers({ db: remote }, briefly) });
    await there.advance(60 * minute);
    expect(shownBy(there)).toEqual(['mcp__db__query live']);
    await lose(there, 'db');
    const changes = changesOf(there);
    await there.advance(5 * minute - 11);
    expect(shownBy(there)).toEqual(['mcp__db__query stale']);
    await there.advance(1);
    expect(shownBy(there)).toEqual([]);
    expect(there.troupe.status('db')).toMatchObject({ catalog: 'none', tools: 0 });
    expect(changes).toEqual(['db']);
  });

  it('is forgotten even while its server is stopped', async () => {
    const there = await stage({ settings: servers({ db: 'srv', web: 'srv' }, briefly) });
    there.troupe.send({ type: 'server.stop', server: 'db' });
    await there.advance(3 * minute);
    there.troupe.send({ type: 'server.stop', server: 'web' });
    await there.advance(2 * minute);
    there.obedient = new Set();
    there.troupe.send({ type: 'server.start', server: 'db' });
    there.troupe.send({ type: 'server.start', server: 'web' });
    await there.settle();
    expect(shownBy(there)).toEqual(['mcp__web__query deferred']);
  });

  it('keeps its age across runs', async () => {
    const listedAt = new VirtualClock().wallNow() - 4 * minute;
    const store = createStore([{ ...known('db', 'query'), listedAt }]);
    const there = await stage({
      settings: servers(
        { db: { command: 'srv', startup: 'lazy' } },
        { policy: { catalog: { ttlMs: 5 * minute } } },
      ),
      keepCatalogs: store.keepCatalogs,
    });
    await there.advance(minute - 1);
    expect(shownBy(there)).toEqual(['mcp__db__query deferred']);
    await there.advance(1);
    expect(shownBy(there)).toEqual([]);
    expect(there.stateOf('db')).toBe('dormant');
  });

  it('can outlive the longest timer', async () => {
    const there = await stage({ settings: servers({ db: 'srv' }) });
    there.troupe.send({ type: 'server.stop', server: 'db' });
    await there.advance(30 * day - 1);
    there.obedient = new Set();
    there.troupe.send({ type: 'server.start', server: 'db' });
    await there.settle();
    expect(shownBy(there)).toEqual(['mcp__db__query deferred']);
    await there.advance(1);
    expect(shownBy(there)).toEqual([]);
  });

  it('is evicted oldest first, unless its server is live', async () => {
    const there = await stage({
      settings: servers(
        { a: 'srv', b: 'srv', c: 'srv' },
        { policy: { catalog: { maxEntries: 2, cache: 'memory' } } },
      ),
    });
    expect(shownBy(there)).toEqual([
      'mcp__a__query live',
      'mcp__b__query live',
      'mcp__c__query live',
    ]);
    await lose(there, 'b');
    expect(shownBy(there)).toEqual(['mcp__a__query live', 'mcp__c__query live']);
    await lose(there, 'c', 'a');
    expect(shownBy(there)).toEqual(['mcp__a__query stale', 'mcp__c__query stale']);
    there.obedient = null;
    await there.advance(10 * minute);
    expect(shownBy(there)).toEqual([
      'mcp__a__query live',
      'mcp__b__query live',
      'mcp__c__query live',
    ]);
  });

  it('is reloaded from disk when its removed server returns', async () => {
    const stored = [known('db', 'query')];
    const store = createStore(stored);
    const settings = servers({ db: { command: 'srv', startup: 'lazy' } });
    const there = await stage({ settings, keepCatalogs: store.keepCatalogs });
    expect(shownBy(there)).toEqual(['mcp__db__query deferred']);
    stored.length = 0;
    await there.apply(servers({}));
    await there.apply(settings);
    expect(shownBy(there)).toEqual([]);
    stored.push(known('db', 'query'));
    await there.apply(servers({}));
    await there.apply(settings);
    expect(shownBy(there)).toEqual(['mcp__db__query deferred']);
    expect(store.looks).toEqual([['db'], ['db'], ['db']]);
  });

  it('belongs to the settings it was listed with, even when they return', async () => {
    const there = await stage({ settings: servers({ db: 'srv' }) });
    there.obedient = new Set();
    for (const program of ['other', 'srv']) {
      await there.apply(servers({ db: program }));
      there.sessions.of('db').closed();
      await there.settle();
    }
    expect(there.troupe.status('db')).toMatchObject({ catalog: 'none', tools: 0 });
  });

  it('reappears when its excluded server returns', async () => {
    const entries = { db: 'srv' };
    const there = await stage({ settings: servers(entries) });
    await there.apply(servers(entries, { excluded: ['db'] }));
    expect(shownBy(there)).toEqual([]);
    there.obedient = new Set();
    await there.apply(servers(entries));
    expect(shownBy(there)).toEqual(['mcp__db__query deferred']);
  });

  it('is dated by the end of the last session, not by its listing', async () => {
    const store = createStore();
    const there = await stage({
      settings: servers({ db: 'srv', web: 'srv' }),
      keepCatalogs: store.keepCatalogs,
    });
    const dateOf = (server: string) =>
      store.saved.findLast((entry) => entry.server === server)?.listedAt;
    await there.advance(40 * day);
    await lose(there, 'db');
    expect(dateOf('db')).toBe(there.clock.wallNow() - 10);
    const stopped = there.troupe.stop();
    there.sessions.of('web').closed();
    await there.advance(5_000);
    await stopped;
    expect(dateOf('web')).toBeGreaterThan(there.clock.wallNow() - 5_001);
    expect(store.saved.findLast((entry) => entry.server === 'web')?.catalog.tools).toHaveLength(1);
  });
});

describe('a deferred tool', () => {
  it('is not called once its server no longer has it', async () => {
    const store = createStore([known('db', 'old')]);
    const there = await stage({
      settings: servers({ db: { command: 'srv', startup: 'lazy' } }),
      keepCatalogs: store.keepCatalogs,
    });
    there.tools.set('db', [tool('new')]);
    let callCount = 0;
    there.sessions.onCall = () => {
      callCount += 1;
    };
    await expect(there.troupe.callTool('mcp__db__old')).rejects.toMatchObject({
      code: 'TOOL_UNKNOWN',
      outcome: 'not_executed',
    });
    expect(callCount).toBe(0);
    expect(shownBy(there)).toEqual(['mcp__db__new live']);
  });
});
