import { describe, expect, it } from 'vitest';
import { crash, nextAttempt, remote, servers, stage, tool } from './stage.ts';

const db = servers({ db: 'srv' });
const startedAt = Date.UTC(2026, 0, 1);
const iso = (ms: number): string => new Date(startedAt + ms).toISOString();

describe('the status of a running server', () => {
  it('is told at every change and at no other time', async () => {
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

  it('says since when it is so, and keeps that while only details change', async () => {
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

  it('counts a degraded time by itself', async () => {
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
  ] as const)('foretells each next attempt of %s to the millisecond', async (_, entry) => {
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

  it('foretells the quiet tries of a lost server anew each time', async () => {
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

  it('says that its chart broke, and is well again a second later', async () => {
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

  it('reads stopped for every server once the troupe has stopped or was killed', async () => {
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
