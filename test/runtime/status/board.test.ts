import { describe, expect, it } from 'vitest';
import {
  call,
  crash,
  nextAttempt,
  remote,
  type Stage,
  servers,
  setUp,
  stage,
  tool,
} from '../stage.ts';

const db = servers({ db: 'srv' });
const startedAt = Date.UTC(2026, 0, 1);
const iso = (ms: number): string => new Date(startedAt + ms).toISOString();

describe("a running server's status", () => {
  it('is reported once for each change', async () => {
    const there = await stage({ settings: db, obedient: [] });
    await there.advance(400);
    there.sessions.of('db').open({ pid: 77 });
    await there.settle();
    there.sessions.of('db').list([tool('query')]);
    await there.advance(600_000);
    expect(there.story).toEqual([
      'db queued',
      'db connecting',
      'db loadingTools',
      // The tools are known a moment before the chart has heard of them.
      'db ready',
    ]);
  });

  it('keeps its since time while only details change', async () => {
    const there = await stage({ settings: db, obedient: [] });
    await there.advance(1_000);
    expect(there.troupe.status('db')).toMatchObject({ state: 'connecting', since: iso(0) });
    there.sessions.of('db').open({ pid: 77, era: 'modern' });
    await there.advance(500);
    expect(there.troupe.status('db')).toMatchObject({
      state: 'loadingTools',
      since: iso(1_000),
      pid: 77,
      era: 'modern',
    });
    there.sessions.of('db').list([tool('query')]);
    await there.advance(70_000);
    expect(there.troupe.status('db')).toMatchObject({
      state: 'ready',
      since: iso(1_500),
      tools: 1,
    });
    there.sessions.of('db').list([tool('query'), tool('other')]);
    await there.settle();
    expect(there.troupe.status('db')).toMatchObject({ since: iso(1_500), tools: 2 });
  });

  it('has its own since time while degraded', async () => {
    const there = await stage({ settings: db });
    await there.advance(100);
    there.sessions.of('db').impair('flooding');
    await there.settle();
    expect(there.troupe.status('db')).toMatchObject({
      state: 'degraded',
      reason: 'flooding',
      since: iso(100),
    });
    there.sessions.of('db').impair('healthCheck');
    await there.advance(50);
    expect(there.troupe.status('db')).toMatchObject({ reason: 'healthCheck', since: iso(100) });
    there.sessions.of('db').recover('healthCheck');
    there.sessions.of('db').recover('flooding');
    await there.settle();
    expect(there.troupe.status('db')).toMatchObject({ state: 'ready', since: iso(150) });
  });

  it.each([
    ['a local server', 'srv'],
    ['a remote server', remote],
  ] as const)('predicts each next attempt of %s to the millisecond', async (_, entry) => {
    const there = await stage({ settings: servers({ db: entry }), obedient: [] });
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      await there.advance(1_000);
      there.sessions.of('db').fail(crash());
      await there.settle();
      expect(there.troupe.status('db')).toMatchObject({ state: 'backingOff', attempt });
      const count = there.sessions.scripts.length;
      const leftMs =
        Date.parse(there.troupe.status('db')?.nextAttemptAt ?? '') - there.clock.wallNow();
      await there.advance(leftMs - 1);
      expect(there.sessions.scripts).toHaveLength(count);
      await there.advance(1);
      expect(there.sessions.scripts).toHaveLength(count + 1);
    }
  });

  it('predicts each quiet retry of a lost server', async () => {
    const there = await stage({ settings: servers({ db: remote }), obedient: [] });
    const seen = new Set<string>();
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      there.sessions.of('db').fail(crash());
      await there.settle();
      const { nextAttemptAt = '' } = there.troupe.status('db') ?? {};
      expect(Date.parse(nextAttemptAt)).toBeGreaterThan(there.clock.wallNow());
      seen.add(nextAttemptAt);
      await nextAttempt(there, 'db');
      expect(there.stateOf('db')).toBe('connecting');
    }
    expect(seen.size).toBe(8);
  });

  it("matches every server's chart from the first event on", async () => {
    const there = setUp({ settings: servers({ a: 'srv', b: 'srv', c: 'srv' }), obedient: [] });
    const seen = snapshotsAtEvents(there);
    await there.settle();
    expect(seen[0]).toEqual(['a queued', 'b queued', 'c queued']);
    expect(seen.flat().filter((line) => line.includes('lastError'))).toEqual([]);
  });

  it("matches an added server's chart from the first event on", async () => {
    const there = await stage({ settings: db });
    const seen = snapshotsAtEvents(there);
    there.troupe.send({
      type: 'settings.changed',
      settings: servers({ db: 'srv', a: 'srv', z: 'srv' }),
    });
    await there.settle();
    expect(seen[0]).toEqual(['a queued', 'db ready', 'z queued']);
    expect(seen.flat().filter((line) => line.includes('lastError'))).toEqual([]);
  });

  it('is reported in order when a listener changes the server', async () => {
    const there = await stage({ settings: db, obedient: ['db'] });
    const seen = new Set<string>();
    there.troupe.on('status.changed', ({ status }) => {
      seen.add(there.stateOf(status.name) === status.state ? 'present' : 'past');
      if (status.name === 'a' && status.state === 'queued') call(there, 'z');
    });
    there.troupe.send({
      type: 'settings.changed',
      settings: servers({ db: 'srv', a: 'srv', z: { command: 'srv', startup: 'lazy' } }),
    });
    await there.settle();
    expect([...seen]).toEqual(['present']);
    expect(there.story.filter((line) => line.startsWith('z '))).toEqual([
      'z queued',
      'z connecting',
    ]);
  });

  it('reports a broken chart and recovers a second later', async () => {
    const there = await stage({ settings: servers({ db: 'srv', other: 'srv' }) });
    const lost = there.sessions.of('db');
    breakChart(there.actorOf('db'));
    await there.settle();
    expect(there.troupe.status('db')).toMatchObject({
      state: 'backingOff',
      reason: 'retrying',
      lastError: { code: 'INTERNAL', kind: 'unknown' },
    });
    expect(there.story.at(-1)).toBe('db backingOff.retrying');
    expect(lost.state).toBe('over');
    expect(there.errors).toHaveLength(1);
    expect(there.stateOf('other')).toBe('ready');

    await there.advance(1_000);
    expect(there.stateOf('db')).toBe('ready');
    expect(there.troupe.tools().map(({ server }) => server)).toEqual(['db', 'other']);
  });

  it('is stopped for every server after a stop or kill', async () => {
    for (const type of ['troupe.stop', 'troupe.kill'] as const) {
      const there = await stage({
        settings: servers({ db: 'srv', web: remote, off: { command: 'srv', enabled: false } }),
      });
      there.troupe.send({ type });
      await there.settle();
      const { troupe, servers: statuses } = there.troupe.snapshot();
      expect(troupe.state).toBe('stopped');
      expect(statuses.map(({ state }) => state)).toEqual(['stopped', 'stopped', 'stopped']);
      expect(there.story.slice(-3).sort()).toEqual(['db stopped', 'off stopped', 'web stopped']);
      expect(there.troupe.tools()).toEqual([]);
    }
  });

  it('is sorted by name', async () => {
    const there = await stage({ settings: servers({ b: 'srv', a: 'srv', c: 'srv' }) });
    expect(there.troupe.snapshot().servers.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
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
