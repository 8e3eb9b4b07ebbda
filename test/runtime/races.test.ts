/**
 * The races that every model system got wrong somewhere, by their numbers in
 * the catalogue of behaviours, played through the whole runtime.
 */

import { describe, expect, it } from 'vitest';
import { settingsFile } from '../../src/testing/scripted-troupe.ts';
import {
  bringUp,
  call,
  callFailure,
  crash,
  failure,
  nextAttempt,
  pong,
  remote,
  type Stage,
  servers,
  stageOf,
  thrownBy,
  tool,
  watch,
} from './stage.ts';

const db = servers({ db: 'srv' });
const commandsOf = (stage: Stage): readonly string[] => stage.sessions.of('db').commands;
const toolNames = (stage: Stage): readonly string[] => stage.troupe.tools().map(({ name }) => name);

describe('a race', () => {
  it('T1: concurrent starts open one connection', async () => {
    const settings = servers({ db: { command: 'srv', startup: 'lazy' } });
    const stage = await stageOf({ settings, obedient: [] });
    for (let count = 0; count < 20; count += 1) {
      stage.troupe.send({ type: 'server.start', server: 'db' });
      call(stage, 'db');
    }
    await stage.settle();
    expect(stage.sessions.scripts).toHaveLength(1);
    expect(commandsOf(stage)).toEqual(['session.open']);
  });

  it('T2: a stop while connecting closes the connection once and shows no tools', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.settle();
    expect(commandsOf(stage)).toEqual(['session.open', 'session.close']);
    // What opened at the same moment is heard too late.
    stage.actorOf('db').send({ type: 'session.opened', era: 'legacy', session: 1, at: 0 });
    stage.actorOf('db').send({ type: 'session.listed', toolCount: 1, session: 1, at: 0 });
    stage.sessions.of('db').closed();
    await stage.settle();
    expect(stage.stateOf('db')).toBe('stopped');
    expect(toolNames(stage)).toEqual([]);
    expect(commandsOf(stage)).toEqual(['session.open', 'session.close']);
  });

  it('T3: a stop during backoff takes effect immediately and leaves no timer', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    stage.sessions.of('db').fail({ ...crash(), retryAfterMs: 20_000 });
    await stage.advance(5_000);
    const whileWaiting = stage.clock.pendingCount;
    expect(stage.stateOf('db')).toBe('backingOff.retrying');
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.settle();
    expect(stage.stateOf('db')).toBe('stopped');
    expect(stage.clock.pendingCount).toBe(whileWaiting - 1);
    await stage.advance(600_000);
    expect(stage.sessions.scripts).toHaveLength(1);
    // It was stopped by name: another chart for the same settings stays stopped as well.
    await stage.apply(servers({}));
    await stage.apply(db);
    expect(stage.stateOf('db')).toBe('stopped');
    expect(stage.sessions.scripts).toHaveLength(1);
  });

  it('T4: after a connect timeout the next attempt waits until the first has closed', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    await stage.advance(30_000);
    expect(stage.stateOf('db')).toBe('stopping');
    expect(stage.sessions.scripts).toHaveLength(1);
    stage.troupe.send({ type: 'server.restart', server: 'db' });
    await stage.advance(3_000);
    expect(stage.sessions.scripts).toHaveLength(1);
    // It never closes, and cannot be killed: it is disposed of before the next begins.
    await stage.advance(3_000);
    expect(stage.sessions.of('db').commands).toContain('session.kill');
    expect(stage.sessions.scripts).toHaveLength(1);
    await stage.advance(500);
    const [first, second] = stage.sessions.scripts;
    expect([first?.state, second?.state]).toEqual(['over', 'opening']);
  });

  it('T5: a restart of a failed server begins with a fresh budget', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    const fail = async (): Promise<void> => {
      stage.sessions.of('db').fail(crash());
      await stage.settle();
      await nextAttempt(stage, 'db');
    };
    for (let attempt = 1; attempt <= 5; attempt += 1) await fail();
    expect(stage.stateOf('db')).toBe('failed.attemptsExhausted');
    stage.troupe.send({ type: 'server.restart', server: 'db' });
    await stage.settle();
    expect(stage.troupe.status('db')).toMatchObject({ state: 'connecting', attempt: 1 });
    for (let attempt = 1; attempt <= 4; attempt += 1) await fail();
    expect(stage.troupe.status('db')).toMatchObject({ state: 'connecting', attempt: 5 });
    await fail();
    expect(stage.stateOf('db')).toBe('failed.attemptsExhausted');
  });

  it('T6: concurrent restarts open one new session', async () => {
    const stage = await stageOf({ settings: db });
    stage.obedient = new Set();
    const made = Array.from({ length: 5 }, () => watch(stage.troupe.restartAndWait('db')));
    await stage.settle();
    expect(commandsOf(stage)).toEqual(['session.open', 'session.list', 'session.close']);
    stage.sessions.of('db').closed();
    await stage.settle();
    bringUp(stage.sessions.of('db'));
    await stage.settle();
    expect(stage.sessions.scripts).toHaveLength(2);
    expect(made.map(({ state }) => state)).toEqual(Array.from({ length: 5 }, () => 'done'));
  });

  it('T7: new settings during a reconnect abandon the old attempt', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(stage.stateOf('db')).toBe('backingOff.retrying');
    const old = stage.troupe.status('db')?.generation;
    stage.files.isWatched = false;
    stage.files.write(settingsFile, servers({ db: 'newer' }));
    stage.troupe.send({ type: 'settings.reload' });
    await stage.settle();
    expect(stage.troupe.status('db')).toMatchObject({ state: 'connecting', attempt: 1 });
    await stage.advance(31_000);
    const generations = stage.sessions.scripts.map(({ input }) => input.generation);
    expect(generations.slice(1)).not.toContain(old);
  });

  it('T8: edits while settings are being read cause exactly one more read', async () => {
    const stage = await stageOf({ settings: db });
    const reads: unknown[] = [];
    let editsLeft = 5;
    stage.files.onRead = (file, text) => {
      if (file !== settingsFile) return;
      reads.push(JSON.parse(text ?? '{}'));
      // Edits arrive while the file is being read.
      while (editsLeft > 0) {
        editsLeft -= 1;
        stage.files.write(settingsFile, servers({ db: `edit-${editsLeft}` }));
        stage.troupe.send({ type: 'settings.reload' });
      }
    };
    stage.troupe.send({ type: 'settings.reload' });
    await stage.settle();
    expect(reads).toEqual([db, servers({ db: 'edit-0' })]);
    await stage.advance(1_000);
    const plan = await stage.troupe.plan();
    expect(plan.map(({ step }) => step)).toEqual(['keep']);
  });

  it('T8: a pass requested by a listener runs after the current pass', async () => {
    const stage = await stageOf({ settings: db });
    const passes: string[] = [];
    let isInside = false;
    stage.troupe.on('reconciled', ({ plan }) => {
      expect(isInside).toBe(false);
      isInside = true;
      passes.push(plan.map(({ step }) => step).join());
      if (passes.length === 1) stage.troupe.send({ type: 'allow.changed', allowed: null });
      isInside = false;
    });
    stage.troupe.send({ type: 'allow.changed', allowed: [] });
    await stage.settle();
    expect(passes).toEqual(['block', 'admit']);
    expect(stage.stateOf('db')).toBe('ready');
  });

  it('T9: a server removed while it lists its tools stays removed', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    stage.sessions.of('db').open();
    await stage.apply(servers({}));
    stage.actorOf('db').send({ type: 'session.listed', toolCount: 1, session: 1, at: 0 });
    await stage.settle();
    expect(toolNames(stage)).toEqual([]);
    stage.sessions.of('db').closed();
    await stage.settle();
    expect(stage.troupe.status('db')).toBeUndefined();
    expect(stage.childIds()).toEqual(['settingsSource', 'slots']);
  });

  it('T9: a server added again while it closes waits for the old session to end', async () => {
    const stage = await stageOf({ settings: db });
    stage.obedient = new Set();
    await stage.apply(servers({}));
    await stage.apply(db);
    expect(stage.sessions.scripts).toHaveLength(1);
    expect(stage.stateOf('db')).toBe('stopping');
    stage.sessions.of('db').closed();
    await stage.settle();
    expect(stage.sessions.scripts).toHaveLength(2);
    expect(stage.stateOf('db')).toBe('connecting');
  });

  it('T10: events from an earlier session are ignored', async () => {
    const stage = await stageOf({ settings: db });
    stage.troupe.send({ type: 'server.reconnect', server: 'db' });
    await stage.settle();
    const before = stage.troupe.status('db');
    stage.actorOf('db').send({ type: 'calls.began', session: 1 });
    for (let count = 0; count < 9; count += 1) {
      stage.actorOf('db').send({ type: 'call.failed', session: 1, at: 0 });
    }
    await stage.settle();
    expect(stage.troupe.status('db')).toEqual(before);
  });

  it('T11: tools listed after the deadline are dropped', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    stage.sessions.of('db').open();
    await stage.advance(30_000);
    expect(stage.stateOf('db')).toBe('stopping');
    stage.actorOf('db').send({ type: 'session.listed', toolCount: 1, session: 1, at: 0 });
    await stage.settle();
    expect(toolNames(stage)).toEqual([]);
    expect(stage.troupe.status('db')).toMatchObject({ state: 'stopping', catalog: 'none' });
  });

  it('T12: tools that change while they are listed are listed again', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    const script = stage.sessions.of('db');
    script.open();
    await stage.settle();
    script.notify();
    script.list([tool('old')]);
    await stage.settle();
    expect(commandsOf(stage)).toEqual(['session.open', 'session.list', 'session.list']);
    script.list([tool('new')]);
    await stage.settle();
    expect(toolNames(stage)).toEqual(['mcp__db__new']);
  });

  it('T13: an approval for an outdated request is ignored', async () => {
    const stage = await stageOf({ projectSettings: db });
    const [shown] = stage.troupe.approvals();
    stage.files.write('/project/.mcp.json', servers({ db: 'something-else' }));
    await stage.advance(300);
    const grant = { type: 'approval.grant', server: 'db' } as const;
    expect(thrownBy(() => stage.troupe.send({ ...grant, ...fingerprintOf(shown) }))).toMatchObject({
      code: 'PENDING_APPROVAL',
    });
    await stage.settle();
    expect(stage.stateOf('db')).toBe('blocked.pendingApproval');
    // The chart itself refuses it too, should it ever get there.
    const [now] = stage.troupe.approvals();
    expect(now?.fingerprint).not.toBe(shown?.fingerprint);
    stage.troupe.send({ ...grant, ...fingerprintOf(now) });
    await stage.settle();
    expect(stage.stateOf('db')).toBe('ready');
  });

  it('T13: an approval during a pass applies in the next', async () => {
    const stage = await stageOf({ projectSettings: db, settings: servers({ own: 'srv' }) });
    let isGranted = false;
    stage.troupe.on('reconciled', () => {
      if (isGranted) return;
      isGranted = true;
      stage.troupe.send({ type: 'approval.grant', server: 'db' });
    });
    await stage.apply(servers({ own: 'newer' }));
    expect(stage.stateOf('db')).toBe('ready');
  });

  it('T14: a server disabled while it connects stays disabled', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    await stage.apply(servers({ db: { command: 'srv', enabled: false } }));
    expect(stage.stateOf('db')).toBe('stopping');
    stage.actorOf('db').send({ type: 'session.opened', era: 'legacy', session: 1, at: 0 });
    stage.sessions.of('db').closed();
    await stage.advance(600_000);
    expect(stage.stateOf('db')).toBe('disabled');
    expect(stage.sessions.scripts).toHaveLength(1);
  });

  it('T15: a call in flight settles once when its transport dies, in either order of events', async () => {
    const stage = await stageOf({ settings: db });
    const crashed = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    await stage.advance(1_000);
    const lost = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').calls[0]?.fail(callFailure('crashed', true));
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    await stage.advance(1_000);
    for (const made of [crashed, lost]) {
      expect(made.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
    }
    const sent = stage.sessions.scripts.flatMap(({ calls }) => calls);
    expect(sent).toHaveLength(2);
  });

  it('T16: aborting one call affects neither the others nor the server', async () => {
    const stage = await stageOf({ settings: db });
    const controller = new AbortController();
    const aborted = call(stage, 'db', { signal: controller.signal });
    const others = Array.from({ length: 3 }, () => call(stage, 'db'));
    await stage.settle();
    controller.abort();
    for (const sent of stage.sessions.of('db').calls) sent.answer(pong);
    await stage.settle();
    expect(aborted.error?.code).toBe('CANCELLED');
    expect(aborted.error?.outcome).toBe('unknown');
    expect(others.map(({ value }) => value?.result)).toEqual([pong, pong, pong]);
    expect(stage.sessions.scripts).toHaveLength(1);
    const later = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').calls.at(-1)?.answer(pong);
    await stage.settle();
    expect(later.value?.result).toEqual(pong);
    expect(stage.stateOf('db')).toBe('ready');
  });

  it('T17: a close that never ends is bounded', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv', web: remote }), obedient: [] });
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.advance(5_999);
    expect(stage.stateOf('db')).toBe('stopping');
    // Commands that are repeated while it closes do not renew the deadline.
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.advance(1);
    expect(stage.sessions.of('db').commands).toContain('session.kill');
    expect(stage.stateOf('db')).toBe('stopping');
    await stage.advance(500);
    expect(stage.stateOf('db')).toBe('stopped');
    expect(stage.sessions.of('db').state).toBe('over');
    const stopped = watch(stage.troupe.stop());
    await stage.advance(5_000);
    expect(stopped.state).toBe('done');
    expect(stage.sessions.of('web').state).toBe('over');
  });

  it('T18: a stop wins over a crash loop in either order', async () => {
    for (const isStopFirst of [true, false]) {
      const stage = await stageOf({ settings: db });
      for (let count = 0; count < 4; count += 1) {
        stage.sessions.of('db').fail(crash());
        await stage.advance(8_000);
      }
      const script = stage.sessions.of('db');
      if (isStopFirst) stage.troupe.send({ type: 'server.stop', server: 'db' });
      if (script.state === 'open') script.fail(crash());
      if (!isStopFirst) stage.troupe.send({ type: 'server.stop', server: 'db' });
      await stage.advance(600_000);
      expect(stage.stateOf('db')).toBe('stopped');
    }
  });

  it('T19: a throwing listener blocks neither other events nor the shutdown', async () => {
    const stage = await stageOf({ settings: db });
    const told: string[] = [];
    for (const name of ['status.changed', 'tools.changed', 'reconciled'] as const) {
      stage.troupe.on(name, () => {
        throw new Error('a listener of the host');
      });
      stage.troupe.on(name, () => told.push(name));
    }
    const stopped = watch(stage.troupe.stop());
    await stage.settle();
    expect(stopped.state).toBe('done');
    expect(new Set(told)).toEqual(new Set(['status.changed', 'tools.changed']));
    expect(stage.errors.length).toBe(told.length);
  });

  it('T20: a server that ends as soon as it starts is started a bounded number of times', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    for (let second = 0; second < 3_600; second += 1) {
      const script = stage.sessions.of('db');
      if (script.state === 'opening') script.fail(crash());
      await stage.advance(1_000);
    }
    expect(stage.sessions.scripts).toHaveLength(5);
    expect(stage.troupe.status('db')).toMatchObject({
      state: 'failed',
      reason: 'attemptsExhausted',
      restarts: 4,
      action: 'provide what is missing or fix /project/troupe.json:3, then troupe restart db',
    });
  });

  it('T20: a server that ends as soon as it is ready is suspended', async () => {
    const stage = await stageOf({ settings: db });
    for (let count = 0; count < 600; count += 1) {
      const script = stage.sessions.of('db');
      if (script.state === 'open') script.fail(crash());
      await stage.advance(100);
    }
    expect(stage.sessions.scripts).toHaveLength(5);
    expect(stage.stateOf('db')).toBe('suspended.crashLoop');
  });

  it('T21: a half-open circuit sends one probe while calls fail', async () => {
    const stage = await stageOf({ settings: db });
    const script = stage.sessions.of('db');
    for (let count = 0; count < 5; count += 1) {
      call(stage, 'db');
      await stage.settle();
      script.calls.at(-1)?.fail(callFailure('timeout', true));
      await stage.settle();
    }
    stage.obedient = new Set();
    await stage.advance(30_000);
    expect(stage.troupe.status('db')?.circuit).toBe('halfOpen');
    const raced = Array.from({ length: 50 }, () => call(stage, 'db'));
    await stage.settle();
    expect(new Set(raced.map(({ error }) => error?.code))).toEqual(new Set(['CIRCUIT_OPEN']));
    // The verdict is there by then, whatever the probe finds; who came back at once would storm.
    expect(new Set(raced.map(({ error }) => error?.retryAfterMs))).toEqual(new Set([10_000]));
    expect(commandsOf(stage)).toEqual(['session.open', 'session.list', 'session.list']);
    expect(script.calls).toHaveLength(5);
    script.list([tool('query')]);
    await stage.settle();
    expect(stage.troupe.status('db')?.circuit).toBe('closed');
  });

  it('T21: an unanswered probe reopens the circuit for longer', async () => {
    const stage = await stageOf({ settings: db });
    const script = stage.sessions.of('db');
    for (let count = 0; count < 5; count += 1) {
      call(stage, 'db');
      await stage.settle();
      script.calls.at(-1)?.fail(callFailure('timeout', true));
      await stage.settle();
    }
    stage.obedient = new Set();
    await stage.advance(40_000);
    expect(stage.troupe.status('db')?.circuit).toBe('open');
    const refused = call(stage, 'db');
    await stage.settle();
    expect(refused.error?.retryAfterMs).toBe(60_000);
  });

  it('T21: an outage does not count as a failed probe, and calls resume with the server', async () => {
    const stage = await stageOf({ settings: servers({ db: remote }) });
    for (let count = 0; count < 5; count += 1) {
      call(stage, 'db');
      await stage.settle();
      stage.sessions.of('db').calls.at(-1)?.fail(callFailure('timeout', true));
      await stage.settle();
    }
    stage.obedient = new Set();
    stage.sessions.of('db').fail(failure('transport'));
    for (let attempt = 1; attempt <= 12; attempt += 1) {
      await nextAttempt(stage, 'db');
      stage.sessions.of('db').fail(failure('unavailable'));
      await stage.settle();
    }
    expect(stage.troupe.status('db')).toMatchObject({ state: 'backingOff', circuit: 'open' });
    stage.obedient = null;
    await nextAttempt(stage, 'db');
    expect(stage.troupe.status('db')).toMatchObject({ state: 'ready', circuit: 'closed' });
  });

  it('T22: a call that arrives while an idle server closes gets a new session', async () => {
    const settings = servers({ db: { command: 'srv', idleStopMs: 5_000 } });
    const stage = await stageOf({ settings });
    stage.obedient = new Set();
    await stage.advance(5_000);
    expect(stage.stateOf('db')).toBe('stopping');
    const made = call(stage, 'db');
    stage.obedient = null;
    stage.sessions.of('db').closed();
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
    expect(stage.sessions.scripts).toHaveLength(2);
  });

  it('T22: a server with running calls is never idle', async () => {
    const settings = servers({ db: { command: 'srv', idleStopMs: 5_000 } });
    const stage = await stageOf({ settings });
    const made = call(stage, 'db');
    await stage.advance(59_000);
    expect(stage.stateOf('db')).toBe('ready');
    stage.sessions.of('db').calls[0]?.answer(pong);
    // Within a second another call would have been the same work.
    await stage.advance(5_999);
    expect(made.state).toBe('done');
    expect(stage.stateOf('db')).toBe('ready');
    await stage.advance(1);
    expect(stage.stateOf('db')).toBe('dormant');
  });

  it('T23: concurrent authorization failures ask the user once', async () => {
    const stage = await stageOf({ settings: servers({ db: remote }) });
    const asked: string[] = [];
    stage.troupe.on('auth.needed', ({ server }) => asked.push(server));
    const made = Array.from({ length: 8 }, () => call(stage, 'db'));
    await stage.settle();
    for (const sent of stage.sessions.of('db').calls) sent.fail(callFailure('authRequired', true));
    stage.sessions.of('db').fail(failure('authRequired'));
    await stage.settle();
    expect(new Set(made.map(({ error }) => error?.code))).toEqual(new Set(['AUTH_REQUIRED']));
    expect(asked).toEqual(['db']);
    expect(stage.stateOf('db')).toBe('authRequired');
    stage.troupe.send({ type: 'auth.completed', server: 'db' });
    await stage.settle();
    expect(stage.stateOf('db')).toBe('ready');
  });

  it('T24: an edit missed by the watcher is applied by the next pass', async () => {
    const stage = await stageOf({ settings: db });
    stage.files.isWatched = false;
    stage.files.write(settingsFile, servers({ db: 'newer' }));
    await stage.advance(60_000);
    expect(stage.sessions.scripts).toHaveLength(1);
    stage.troupe.send({ type: 'settings.reload' });
    await stage.settle();
    expect(stage.sessions.scripts).toHaveLength(2);
  });

  it('T24: an edit followed by its reversal changes nothing', async () => {
    const stage = await stageOf({ settings: db });
    stage.files.write(settingsFile, servers({ db: 'newer' }));
    await stage.advance(100);
    await stage.apply(db);
    expect(stage.sessions.scripts).toHaveLength(1);
    await stage.apply(servers({ db: 'newer' }));
    await stage.apply(db);
    const generations = stage.sessions.scripts.map(({ input }) => input.generation);
    expect(generations).toHaveLength(3);
    expect(generations[2]).toBe(generations[0]);
  });
});

function fingerprintOf(request: { readonly fingerprint: string } | undefined): {
  readonly fingerprint: string;
} {
  return { fingerprint: request?.fingerprint ?? '' };
}
