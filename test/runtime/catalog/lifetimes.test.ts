import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import { crash, remote, type Stage, servers, stageOf, tool } from '../stage.ts';
import { createStore, known, shownBy } from './stored-catalogs.ts';

describe('a remembered catalog', () => {
  const minute = 60_000;
  const day = 86_400_000;
  const changesOf = ({ troupe }: Stage): unknown[] => {
    const changes: unknown[] = [];
    troupe.on('tools.changed', ({ servers: changed }) => changes.push(...changed));
    return changes;
  };
  const lose = async (stage: Stage, ...names: readonly string[]) => {
    stage.obedient = new Set();
    for (const name of names) {
      stage.sessions.of(name).fail(crash());
      await stage.advance(10);
    }
  };
  const briefly = { policy: { catalog: { cache: 'memory', ttlMs: 5 * minute } } };

  it('is forgotten when its server has not been live for ttlMs', async () => {
    const stage = await stageOf({ settings: servers({ db: remote }, briefly) });
    await stage.advance(60 * minute);
    expect(shownBy(stage)).toEqual(['mcp__db__query live']);
    await lose(stage, 'db');
    const changes = changesOf(stage);
    await stage.advance(5 * minute - 11);
    expect(shownBy(stage)).toEqual(['mcp__db__query stale']);
    await stage.advance(1);
    expect(shownBy(stage)).toEqual([]);
    expect(stage.troupe.status('db')).toMatchObject({ catalog: 'none', tools: 0 });
    expect(changes).toEqual(['db']);
  });

  it('is forgotten even while its server is stopped', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv', web: 'srv' }, briefly) });
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.advance(3 * minute);
    stage.troupe.send({ type: 'server.stop', server: 'web' });
    await stage.advance(2 * minute);
    stage.obedient = new Set();
    stage.troupe.send({ type: 'server.start', server: 'db' });
    stage.troupe.send({ type: 'server.start', server: 'web' });
    await stage.settle();
    expect(shownBy(stage)).toEqual(['mcp__web__query deferred']);
  });

  it('keeps its age across runs', async () => {
    const listedAt = new VirtualClock().wallNow() - 4 * minute;
    const store = createStore([{ ...known('db', 'query'), listedAt }]);
    const stage = await stageOf({
      settings: servers(
        { db: { command: 'srv', startup: 'lazy' } },
        { policy: { catalog: { ttlMs: 5 * minute } } },
      ),
      keepCatalogs: store.keepCatalogs,
    });
    await stage.advance(minute - 1);
    expect(shownBy(stage)).toEqual(['mcp__db__query deferred']);
    await stage.advance(1);
    expect(shownBy(stage)).toEqual([]);
    expect(stage.stateOf('db')).toBe('dormant');
  });

  it('can outlive the longest timer', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.advance(30 * day - 1);
    stage.obedient = new Set();
    stage.troupe.send({ type: 'server.start', server: 'db' });
    await stage.settle();
    expect(shownBy(stage)).toEqual(['mcp__db__query deferred']);
    await stage.advance(1);
    expect(shownBy(stage)).toEqual([]);
  });

  it('is evicted oldest first, unless its server is live', async () => {
    const stage = await stageOf({
      settings: servers(
        { a: 'srv', b: 'srv', c: 'srv' },
        { policy: { catalog: { maxEntries: 2, cache: 'memory' } } },
      ),
    });
    expect(shownBy(stage)).toEqual([
      'mcp__a__query live',
      'mcp__b__query live',
      'mcp__c__query live',
    ]);
    await lose(stage, 'b');
    expect(shownBy(stage)).toEqual(['mcp__a__query live', 'mcp__c__query live']);
    await lose(stage, 'c', 'a');
    expect(shownBy(stage)).toEqual(['mcp__a__query stale', 'mcp__c__query stale']);
    stage.obedient = null;
    await stage.advance(10 * minute);
    expect(shownBy(stage)).toEqual([
      'mcp__a__query live',
      'mcp__b__query live',
      'mcp__c__query live',
    ]);
  });

  it('is reloaded from disk when its removed server returns', async () => {
    const stored = [known('db', 'query')];
    const store = createStore(stored);
    const settings = servers({ db: { command: 'srv', startup: 'lazy' } });
    const stage = await stageOf({ settings, keepCatalogs: store.keepCatalogs });
    expect(shownBy(stage)).toEqual(['mcp__db__query deferred']);
    stored.length = 0;
    await stage.apply(servers({}));
    await stage.apply(settings);
    expect(shownBy(stage)).toEqual([]);
    stored.push(known('db', 'query'));
    await stage.apply(servers({}));
    await stage.apply(settings);
    expect(shownBy(stage)).toEqual(['mcp__db__query deferred']);
    expect(store.looks).toEqual([['db'], ['db'], ['db']]);
  });

  it('belongs to the settings it was listed with, even when they return', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    stage.obedient = new Set();
    for (const program of ['other', 'srv']) {
      await stage.apply(servers({ db: program }));
      stage.sessions.of('db').closed();
      await stage.settle();
    }
    expect(stage.troupe.status('db')).toMatchObject({ catalog: 'none', tools: 0 });
  });

  it('reappears when its excluded server returns', async () => {
    const entries = { db: 'srv' };
    const stage = await stageOf({ settings: servers(entries) });
    await stage.apply(servers(entries, { excluded: ['db'] }));
    expect(shownBy(stage)).toEqual([]);
    stage.obedient = new Set();
    await stage.apply(servers(entries));
    expect(shownBy(stage)).toEqual(['mcp__db__query deferred']);
  });

  it('is dated by the end of the last session, not by its listing', async () => {
    const store = createStore();
    const stage = await stageOf({
      settings: servers({ db: 'srv', web: 'srv' }),
      keepCatalogs: store.keepCatalogs,
    });
    const dateOf = (server: string) =>
      store.saved.findLast((entry) => entry.server === server)?.listedAt;
    await stage.advance(40 * day);
    await lose(stage, 'db');
    expect(dateOf('db')).toBe(stage.clock.wallNow() - 10);
    const stopped = stage.troupe.stop();
    stage.sessions.of('web').closed();
    await stage.advance(5_000);
    await stopped;
    expect(dateOf('web')).toBeGreaterThan(stage.clock.wallNow() - 5_001);
    expect(store.saved.findLast((entry) => entry.server === 'web')?.catalog.tools).toHaveLength(1);
  });
});

describe('a deferred tool', () => {
  it('is not called once its server no longer has it', async () => {
    const store = createStore([known('db', 'old')]);
    const stage = await stageOf({
      settings: servers({ db: { command: 'srv', startup: 'lazy' } }),
      keepCatalogs: store.keepCatalogs,
    });
    stage.tools.set('db', [tool('new')]);
    let callCount = 0;
    stage.sessions.onCall = () => {
      callCount += 1;
    };
    await expect(stage.troupe.callTool('mcp__db__old')).rejects.toMatchObject({
      code: 'TOOL_UNKNOWN',
      outcome: 'not_executed',
    });
    expect(callCount).toBe(0);
    expect(shownBy(stage)).toEqual(['mcp__db__new live']);
  });
});
