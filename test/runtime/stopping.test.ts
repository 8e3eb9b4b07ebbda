import { describe, expect, it } from 'vitest';
import {
  bringUp,
  call,
  crash,
  pong,
  remote,
  type Stage,
  servers,
  stageOf,
  tool,
  watch,
} from './stage.ts';

const four = servers({
  db: 'srv',
  web: remote,
  lazy: { command: 'srv', startup: 'lazy' },
  off: { command: 'srv', enabled: false },
});

/** Nothing of the troupe is left: no session, no timer, no child, no call. */
function expectNothingLeft(stage: Stage): void {
  expect(stage.troupe.snapshot().troupe.state).toBe('stopped');
  expect(stage.sessions.scripts.map(({ state }) => state)).toEqual(
    stage.sessions.scripts.map(() => 'over'),
  );
  expect(stage.clock.pendingCount).toBe(0);
  expect(stage.troupe.tools()).toEqual([]);
}

describe('stopping a troupe', () => {
  it('closes every session gracefully and leaves nothing behind', async () => {
    const stage = await stageOf({ settings: four });
    const stopped = watch(stage.troupe.stop());
    expect(stage.troupe.snapshot().troupe.state).not.toBe('running');
    await stage.settle();
    expect(stopped.state).toBe('done');
    for (const { commands } of stage.sessions.scripts) {
      expect(commands).toEqual(['session.open', 'session.list', 'session.close']);
    }
    expectNothingLeft(stage);
    expect(stage.errors).toEqual([]);
  });

  it('reports each server as stopping and then as stopped, in five steps of the charts', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `s${index}`);
    const stage = await stageOf({
      settings: servers(Object.fromEntries(names.map((name) => [name, remote]))),
    });
    const seen: string[] = [];
    stage.troupe.on('status.changed', ({ status }) => seen.push(`${status.name} ${status.state}`));
    let steps = 0;
    stage.rootOf().system.inspect(({ type }) => {
      if (type === '@xstate.microstep') steps += 1;
    });
    void stage.troupe.stop();
    await stage.settle();
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
    const stage = await stageOf({ settings: four });
    stage.obedient = new Set(['web']);
    const made = call(stage, 'db');
    await stage.settle();
    const stopped = watch(stage.troupe.stop());
    await stage.advance(4_999);
    expect(stopped.state).toBe('pending');
    expect(made.error).toMatchObject({ code: 'CANCELLED', outcome: 'unknown' });
    await stage.advance(1);
    expect(stopped.state).toBe('done');
    expectNothingLeft(stage);
  });

  it('ends servers in every state', async () => {
    const stage = await stageOf({
      settings: servers({ a: 'srv', b: 'srv', c: 'srv', d: 'srv', e: remote }),
      obedient: ['a'],
    });
    stage.sessions.of('b').fail(crash());
    stage.sessions.of('e').open();
    await stage.settle();
    const states = ['a', 'b', 'c', 'd', 'e'].map((name) => stage.stateOf(name));
    expect(states).toEqual([
      'ready',
      'backingOff.retrying',
      'connecting',
      'connecting',
      'loadingTools',
    ]);
    stage.obedient = null;
    const stopped = watch(stage.troupe.stop());
    await stage.settle();
    expect(stopped.state).toBe('done');
    expectNothingLeft(stage);
  });

  it('starts no server before the first pass', async () => {
    const stage = await stageOf({ settings: four, obedient: [] });
    void stage.troupe.stop();
    const again = watch(stage.troupe.stop());
    await stage.advance(5_000);
    expect(again.state).toBe('done');
    expectNothingLeft(stage);
  });

  it('can be requested repeatedly', async () => {
    const stage = await stageOf({ settings: four });
    const ends = [stage.troupe.stop(), stage.troupe.stop()].map(watch);
    stage.troupe.send({ type: 'troupe.stop' });
    await stage.settle();
    ends.push(
      watch(stage.troupe.stop()),
      watch(Promise.resolve(stage.troupe[Symbol.asyncDispose]())),
    );
    await stage.settle();
    expect(ends.map(({ state }) => state)).toEqual(['done', 'done', 'done', 'done']);
  });

  it('ignores later edits and commands', async () => {
    const stage = await stageOf({ settings: four });
    stage.obedient = new Set();
    void stage.troupe.stop();
    stage.files.write('/project/troupe.json', servers({ other: 'srv' }));
    stage.troupe.send({ type: 'server.restart', server: 'db' });
    stage.troupe.send({ type: 'settings.reload' });
    await stage.advance(5_000);
    expect(stage.sessions.scripts).toHaveLength(2);
    expectNothingLeft(stage);
  });

  it('leaves no timer and no activity', async () => {
    const stage = await stageOf({ settings: four });
    void stage.troupe.stop();
    await stage.settle();
    const told: unknown[] = [];
    stage.troupe.on('status.changed', (event) => told.push(event));
    stage.troupe.on('tools.changed', (event) => told.push(event));
    stage.files.write('/project/troupe.json', servers({ other: 'srv' }));
    await stage.advance(3_600_000);
    expect(told).toEqual([]);
    expect(stage.sessions.scripts).toHaveLength(2);
  });

  it('ends everything immediately when forced', async () => {
    const stage = await stageOf({ settings: four });
    stage.obedient = new Set();
    const made = call(stage, 'db');
    const waiting = call(stage, 'lazy');
    await stage.settle();
    stage.tools.set('db', [tool('query')]);
    const stopped = watch(stage.troupe.stop());
    stage.troupe.send({ type: 'troupe.kill' });
    await stage.settle();
    expect(stopped.state).toBe('done');
    expect(made.error?.outcome).toBe('unknown');
    expect(waiting.error?.code).toBe('SHUTTING_DOWN');
    expectNothingLeft(stage);
  });

  it('lets running calls finish within the grace period and refuses new ones', async () => {
    const stage = await stageOf({ settings: four });
    const running = call(stage, 'db');
    await stage.settle();
    const stopped = watch(stage.troupe.stop({ graceMs: 2_000 }));
    const late = call(stage, 'web');
    await stage.advance(1_999);
    expect(late.error).toMatchObject({ code: 'SHUTTING_DOWN', outcome: 'not_executed' });
    expect(stopped.state).toBe('pending');
    expect(stage.stateOf('web')).toBe('ready');
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(running.state).toBe('done');
    expect(stopped.value).toEqual({ drained: ['db', 'web'], forced: [], errors: [] });
    expectNothingLeft(stage);
  });

  it('waits for a call that waits for its server', async () => {
    const stage = await stageOf({ settings: four, obedient: ['db', 'web'] });
    const waiting = call(stage, 'lazy');
    await stage.settle();
    const stopped = watch(stage.troupe.stop({ graceMs: 60_000 }));
    bringUp(stage.sessions.of('lazy'));
    await stage.settle();
    stage.sessions.of('lazy').calls[0]?.answer(pong);
    stage.obedient = null;
    await stage.settle();
    expect(waiting.state).toBe('done');
    expect(stopped.value?.drained).toEqual(['db', 'lazy', 'web']);
    expectNothingLeft(stage);
  });

  it('reports servers whose calls were cut off after the grace period', async () => {
    const stage = await stageOf({ settings: four });
    const running = call(stage, 'db');
    await stage.settle();
    const stopped = watch(stage.troupe.stop({ graceMs: 2_000 }));
    await stage.advance(2_000);
    expect(running.error).toMatchObject({ code: 'CANCELLED', outcome: 'unknown' });
    expect(stopped.value).toEqual({ drained: ['web'], forced: ['db'], errors: [] });
    expectNothingLeft(stage);
  });

  it('reports servers that did not close in time', async () => {
    const stage = await stageOf({ settings: four });
    stage.obedient = new Set(['web']);
    const stopped = watch(stage.troupe.stop({}));
    await stage.advance(5_000);
    expect(stopped.value).toEqual({ drained: ['web'], forced: ['db'], errors: [] });
  });

  it('ends servers at once with force, after the grace period', async () => {
    const stage = await stageOf({ settings: four });
    stage.obedient = new Set();
    const running = call(stage, 'db');
    await stage.settle();
    const stopped = watch(stage.troupe.stop({ graceMs: 1_000, force: true }));
    await stage.advance(999);
    expect(stopped.state).toBe('pending');
    await stage.advance(1);
    expect(running.error?.outcome).toBe('unknown');
    expect(stopped.value).toEqual({ drained: [], forced: ['db', 'web'], errors: [] });
    expectNothingLeft(stage);
  });

  it('ends a grace period when it is stopped without one', async () => {
    const stage = await stageOf({ settings: four });
    call(stage, 'db');
    await stage.settle();
    const patient = watch(stage.troupe.stop({ graceMs: Number.POSITIVE_INFINITY }));
    const prompt = watch(stage.troupe.stop({}));
    await stage.settle();
    expect(prompt.value?.forced).toEqual(['db']);
    expect(patient.value).toEqual(prompt.value);
    expectNothingLeft(stage);
  });

  it('refuses options that it does not have', async () => {
    const stage = await stageOf({ settings: four });
    for (const options of [{ graceMs: -1 }, { graceMs: '5' }, { grace: 5 }, { force: 1 }]) {
      const refused = watch(stage.troupe.stop(options as object));
      await stage.settle();
      expect(refused.error?.code).toBe('INVALID_ARGUMENTS');
    }
    expect(stage.stateOf('db')).toBe('ready');
    await stage.troupe.stop();
  });
});
