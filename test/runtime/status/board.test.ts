import { describe, expect, it } from 'vitest';
import {
  call,
  crash,
  nextAttempt,
  remote,
  type Stage,
  servers,
  setUp,
  stageOf,
  tool,
} from '../stage.ts';

const db = servers({ db: 'srv' });
const startedAt = Date.UTC(2026, 0, 1);
const iso = (ms: number): string => new Date(startedAt + ms).toISOString();

describe("a running server's status", () => {
  it('is reported once for each change', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    await stage.advance(400);
    stage.sessions.of('db').open({ pid: 77 });
    await stage.settle();
    stage.sessions.of('db').list([tool('query')]);
    await stage.advance(600_000);
    expect(stage.story).toEqual([
      'db queued',
      'db connecting',
      'db loadingTools',
      // The tools are known a moment before the chart has heard of them.
      'db ready',
    ]);
  });

  it('keeps its since time while only details change', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    await stage.advance(1_000);
    expect(stage.troupe.status('db')).toMatchObject({ state: 'connecting', since: iso(0) });
    stage.sessions.of('db').open({ pid: 77, era: 'modern' });
    await stage.advance(500);
    expect(stage.troupe.status('db')).toMatchObject({
      state: 'loadingTools',
      since: iso(1_000),
      pid: 77,
      era: 'modern',
    });
    stage.sessions.of('db').list([tool('query')]);
    await stage.advance(70_000);
    expect(stage.troupe.status('db')).toMatchObject({
      state: 'ready',
      since: iso(1_500),
      tools: 1,
    });
    stage.sessions.of('db').list([tool('query'), tool('other')]);
    await stage.settle();
    expect(stage.troupe.status('db')).toMatchObject({ since: iso(1_500), tools: 2 });
  });

  it('has its own since time while degraded', async () => {
    const stage = await stageOf({ settings: db });
    await stage.advance(100);
    stage.sessions.of('db').impair('flooding');
    await stage.settle();
    expect(stage.troupe.status('db')).toMatchObject({
      state: 'degraded',
      reason: 'flooding',
      since: iso(100),
    });
    stage.sessions.of('db').impair('healthCheck');
    await stage.advance(50);
    expect(stage.troupe.status('db')).toMatchObject({ reason: 'healthCheck', since: iso(100) });
    stage.sessions.of('db').recover('healthCheck');
    stage.sessions.of('db').recover('flooding');
    await stage.settle();
    expect(stage.troupe.status('db')).toMatchObject({ state: 'ready', since: iso(150) });
  });

  it.each([
    ['a local server', 'srv'],
    ['a remote server', remote],
  ] as const)('predicts each next attempt of %s to the millisecond', async (_, entry) => {
    const stage = await stageOf({ settings: servers({ db: entry }), obedient: [] });
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      await stage.advance(1_000);
      stage.sessions.of('db').fail(crash());
      await stage.settle();
      expect(stage.troupe.status('db')).toMatchObject({ state: 'backingOff', attempt });
      const count = stage.sessions.scripts.length;
      const leftMs =
        Date.parse(stage.troupe.status('db')?.nextAttemptAt ?? '') - stage.clock.wallNow();
      await stage.advance(leftMs - 1);
      expect(stage.sessions.scripts).toHaveLength(count);
      await stage.advance(1);
      expect(stage.sessions.scripts).toHaveLength(count + 1);
    }
  });

  it('predicts each quiet retry of a lost server', async () => {
    const stage = await stageOf({ settings: servers({ db: remote }), obedient: [] });
    const seen = new Set<string>();
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      stage.sessions.of('db').fail(crash());
      await stage.settle();
      const { nextAttemptAt = '' } = stage.troupe.status('db') ?? {};
      expect(Date.parse(nextAttemptAt)).toBeGreaterThan(stage.clock.wallNow());
      seen.add(nextAttemptAt);
      await nextAttempt(stage, 'db');
      expect(stage.stateOf('db')).toBe('connecting');
    }
    expect(seen.size).toBe(8);
  });

  it("matches every server's chart from the first event on", async () => {
    const stage = setUp({ settings: servers({ a: 'srv', b: 'srv', c: 'srv' }), obedient: [] });
    const seen = snapshotsAtEvents(stage);
    await stage.settle();
    expect(seen[0]).toEqual(['a queued', 'b queued', 'c queued']);
    expect(seen.flat().filter((line) => line.includes('lastError'))).toEqual([]);
  });

  it("matches an added server's chart from the first event on", async () => {
    const stage = await stageOf({ settings: db });
    const seen = snapshotsAtEvents(stage);
    stage.troupe.send({
      type: 'settings.changed',
      settings: servers({ db: 'srv', a: 'srv', z: 'srv' }),
    });
    await stage.settle();
    expect(seen[0]).toEqual(['a queued', 'db ready', 'z queued']);
    expect(seen.flat().filter((line) => line.includes('lastError'))).toEqual([]);
  });

  it('is reported in order when a listener changes the server', async () => {
    const stage = await stageOf({ settings: db, obedient: ['db'] });
    const seen = new Set<string>();
    stage.troupe.on('status.changed', ({ status }) => {
      seen.add(stage.stateOf(status.name) === status.state ? 'present' : 'past');
      if (status.name === 'a' && status.state === 'queued') call(stage, 'z');
    });
    stage.troupe.send({
      type: 'settings.changed',
      settings: servers({ db: 'srv', a: 'srv', z: { command: 'srv', startup: 'lazy' } }),
    });
    await stage.settle();
    expect([...seen]).toEqual(['present']);
    expect(stage.story.filter((line) => line.startsWith('z '))).toEqual([
      'z queued',
      'z connecting',
    ]);
  });

  it('reports a broken chart and recovers a second later', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv', other: 'srv' }) });
    const lost = stage.sessions.of('db');
    breakChart(stage.actorOf('db'));
    await stage.settle();
    expect(stage.troupe.status('db')).toMatchObject({
      state: 'backingOff',
      reason: 'retrying',
      lastError: { code: 'INTERNAL', kind: 'unknown' },
    });
    expect(stage.story.at(-1)).toBe('db backingOff.retrying');
    expect(lost.state).toBe('over');
    expect(stage.errors).toHaveLength(1);
    expect(stage.stateOf('other')).toBe('ready');

    await stage.advance(1_000);
    expect(stage.stateOf('db')).toBe('ready');
    expect(stage.troupe.tools().map(({ server }) => server)).toEqual(['db', 'other']);
  });

  it('is that of a new server when one whose chart broke was removed and added again', async () => {
    const settings = servers({ db: 'srv', other: 'srv' });
    const stage = await stageOf({ settings });
    breakChart(stage.actorOf('db'));
    await stage.settle();
    await stage.apply(servers({ other: 'srv' }));
    expect(stage.troupe.status('db')).toBeUndefined();
    await stage.advance(10_000);
    const shown: unknown[] = [];
    stage.troupe.on('reconciled', () => shown.push(stage.troupe.status('db')?.lastError));
    await stage.apply(settings);
    expect(shown).toEqual([undefined]);
    expect(stage.stateOf('db')).toBe('ready');
  });

  it('is stopped for every server after a stop or kill', async () => {
    for (const type of ['troupe.stop', 'troupe.kill'] as const) {
      const stage = await stageOf({
        settings: servers({ db: 'srv', web: remote, off: { command: 'srv', enabled: false } }),
      });
      stage.troupe.send({ type });
      await stage.settle();
      const { troupe, servers: statuses } = stage.troupe.snapshot();
      expect(troupe.state).toBe('stopped');
      expect(statuses.map(({ state }) => state)).toEqual(['stopped', 'stopped', 'stopped']);
      expect(stage.story.slice(-3).sort()).toEqual(['db stopped', 'off stopped', 'web stopped']);
      expect(stage.troupe.tools()).toEqual([]);
    }
  });

  it('is sorted by name', async () => {
    const stage = await stageOf({ settings: servers({ b: 'srv', a: 'srv', c: 'srv' }) });
    expect(stage.troupe.snapshot().servers.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });
});

/** What a listener sees of all servers at each event: state, and whether there is an error. */
function snapshotsAtEvents({ troupe }: Stage): string[][] {
  const seen: string[][] = [];
  troupe.on('status.changed', () => {
    seen.push(
      troupe
        .snapshot()
        .servers.map(({ name, state, lastError }) =>
          lastError === undefined ? `${name} ${state}` : `${name} ${state} lastError`,
        ),
    );
  });
  return seen;
}

/** Makes a chart throw, as only a bug of ours could. */
function breakChart(actor: { send(event: never): void }): void {
  const event = {
    type: 'session.impaired',
    session: 1,
    get reason(): never {
      throw new Error('a bug');
    },
  };
  actor.send(event as never);
}
