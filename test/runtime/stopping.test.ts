import { describe, expect, it } from 'vitest';
import { call, crash, remote, type Stage, servers, stage, tool, watch } from './stage.ts';

const four = servers({
  db: 'srv',
  web: remote,
  lazy: { command: 'srv', startup: 'lazy' },
  off: { command: 'srv', enabled: false },
});

/** Nothing of the troupe is left: no session, no timer, no child, no call. */
function expectNothingLeft(there: Stage): void {
  expect(there.troupe.snapshot().troupe.state).toBe('stopped');
  expect(there.sessions.scripts.map(({ state }) => state)).toEqual(
    there.sessions.scripts.map(() => 'over'),
  );
  expect(there.clock.pendingCount).toBe(0);
  expect(there.troupe.tools()).toEqual([]);
}

describe('stopping a troupe', () => {
  it('closes every session gracefully and leaves nothing behind', async () => {
    const there = await stage({ settings: four });
    const stopped = watch(there.troupe.stop());
    expect(there.troupe.snapshot().troupe.state).not.toBe('running');
    await there.settle();
    expect(stopped.state).toBe('done');
    for (const { commands } of there.sessions.scripts) {
      expect(commands).toEqual(['session.open', 'session.list', 'session.close']);
    }
    expectNothingLeft(there);
    expect(there.errors).toEqual([]);
  });

  it('reports each server as stopping and then as stopped, in five steps of the charts', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `s${index}`);
    const there = await stage({
      settings: servers(Object.fromEntries(names.map((name) => [name, remote]))),
    });
    const seen: string[] = [];
    there.troupe.on('status.changed', ({ status }) => seen.push(`${status.name} ${status.state}`));
    let steps = 0;
    there.rootOf().system.inspect(({ type }) => {
      if (type === '@xstate.microstep') steps += 1;
    });
    void there.troupe.stop();
    await there.settle();
    expect(seen.filter((line) => line.endsWith('stopping'))).toEqual(
      names.map((name) => `${name} stopping`),
    );
    expect(seen.filter((line) => line.endsWith('stopped'))).toEqual(
      names.map((name) => `${name} stopped`),
    );
    expect(seen.length).toBe(2 * names.length);
    // Two each of the server and its session, and one of the root, which also stops and ends itself.
    expect(steps).toBeLessThanOrEqual(5 * names.length + 3);
  });

  it('takes at most five seconds even if sessions never close', async () => {
    const there = await stage({ settings: four });
    there.obedient = new Set(['web']);
    const made = call(there, 'db');
    await there.settle();
    const stopped = watch(there.troupe.stop());
    await there.advance(4_999);
    expect(stopped.state).toBe('pending');
    expect(made.error).toMatchObject({ code: 'CANCELLED', outcome: 'unknown' });
    await there.advance(1);
    expect(stopped.state).toBe('done');
    expectNothingLeft(there);
  });

  it('ends servers in every state', async () => {
    const there = await stage({
      settings: servers({ a: 'srv', b: 'srv', c: 'srv', d: 'srv', e: remote }),
      obedient: ['a'],
    });
    there.sessions.of('b').fail(crash());
    there.sessions.of('e').open();
    await there.settle();
    const states = ['a', 'b', 'c', 'd', 'e'].map((name) => there.stateOf(name));
    expect(states).toEqual([
      'ready',
      'backingOff.retrying',
      'connecting',
      'connecting',
      'loadingTools',
    ]);
    there.obedient = null;
    const stopped = watch(there.troupe.stop());
    await there.settle();
    expect(stopped.state).toBe('done');
    expectNothingLeft(there);
  });

  it('starts no server before the first pass', async () => {
    const there = await stage({ settings: four, obedient: [] });
    void there.troupe.stop();
    const again = watch(there.troupe.stop());
    await there.advance(5_000);
    expect(again.state).toBe('done');
    expectNothingLeft(there);
  });

  it('can be requested repeatedly', async () => {
    const there = await stage({ settings: four });
    const ends = [there.troupe.stop(), there.troupe.stop()].map(watch);
    there.troupe.send({ type: 'troupe.stop' });
    await there.settle();
    ends.push(
      watch(there.troupe.stop()),
      watch(Promise.resolve(there.troupe[Symbol.asyncDispose]())),
    );
    await there.settle();
    expect(ends.map(({ state }) => state)).toEqual(['done', 'done', 'done', 'done']);
  });

  it('ignores later edits and commands', async () => {
    const there = await stage({ settings: four });
    there.obedient = new Set();
    void there.troupe.stop();
    there.files.write('/project/troupe.json', servers({ other: 'srv' }));
    there.troupe.send({ type: 'server.restart', server: 'db' });
    there.troupe.send({ type: 'settings.reload' });
    await there.advance(5_000);
    expect(there.sessions.scripts).toHaveLength(2);
    expectNothingLeft(there);
  });

  it('leaves no timer and no activity', async () => {
    const there = await stage({ settings: four });
    void there.troupe.stop();
    await there.settle();
    const told: unknown[] = [];
    there.troupe.on('status.changed', (event) => told.push(event));
    there.troupe.on('tools.changed', (event) => told.push(event));
    there.files.write('/project/troupe.json', servers({ other: 'srv' }));
    await there.advance(3_600_000);
    expect(told).toEqual([]);
    expect(there.sessions.scripts).toHaveLength(2);
  });

  it('ends everything immediately when forced', async () => {
    const there = await stage({ settings: four });
    there.obedient = new Set();
    const made = call(there, 'db');
    const waiting = call(there, 'lazy');
    await there.settle();
    there.tools.set('db', [tool('query')]);
    const stopped = watch(there.troupe.stop());
    there.troupe.send({ type: 'troupe.kill' });
    await there.settle();
    expect(stopped.state).toBe('done');
    expect(made.error?.outcome).toBe('unknown');
    expect(waiting.error?.code).toBe('SHUTTING_DOWN');
    expectNothingLeft(there);
  });
});
