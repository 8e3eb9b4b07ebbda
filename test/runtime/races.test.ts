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
  stage,
  thrownBy,
  tool,
  watch,
} from './stage.ts';

const db = servers({ db: 'srv' });
const commandsOf = (there: Stage): readonly string[] => there.sessions.of('db').commands;
const toolNames = (there: Stage): readonly string[] => there.troupe.tools().map(({ name }) => name);

describe('a race', () => {
  it('T1: concurrent starts open one connection', async () => {
    const settings = servers({ db: { command: 'srv', startup: 'lazy' } });
    const there = await stage({ settings, obedient: [] });
    for (let count = 0; count < 20; count += 1) {
      there.troupe.send({ type: 'server.start', server: 'db' });
      call(there, 'db');
    }
    await there.settle();
    expect(there.sessions.scripts).toHaveLength(1);
    expect(commandsOf(there)).toEqual(['session.open']);
  });

  it('T2: a stop while connecting closes the connection once and shows no tools', async () => {
    const there = await stage({ settings: db, obedient: [] });
    there.troupe.send({ type: 'server.stop', server: 'db' });
    there.troupe.send({ type: 'server.stop', server: 'db' });
    await there.settle();
    expect(commandsOf(there)).toEqual(['session.open', 'session.close']);
    // What opened at the same moment is heard too late.
    there.actorOf('db').send({ type: 'session.opened', era: 'legacy', session: 1, at: 0 });
    there.actorOf('db').send({ type: 'session.listed', toolCount: 1, session: 1, at: 0 });
    there.sessions.of('db').closed();
    await there.settle();
    expect(there.stateOf('db')).toBe('stopped');
    expect(toolNames(there)).toEqual([]);
    expect(commandsOf(there)).toEqual(['session.open', 'session.close']);
  });

  it('T3: a stop during backoff takes effect immediately and leaves no timer', async () => {
    const there = await stage({ settings: db, obedient: [] });
    there.sessions.of('db').fail({ ...crash(), retryAfterMs: 20_000 });
    await there.advance(5_000);
    const whileWaiting = there.clock.pendingCount;
    expect(there.stateOf('db')).toBe('backingOff.retrying');
    there.troupe.send({ type: 'server.stop', server: 'db' });
    await there.settle();
    expect(there.stateOf('db')).toBe('stopped');
    expect(there.clock.pendingCount).toBe(whileWaiting - 1);
    await there.advance(600_000);
    expect(there.sessions.scripts).toHaveLength(1);
  });

  it('T4: after a connect timeout the next attempt waits until the first has closed', async () => {
    const there = await stage({ settings: db, obedient: [] });
    await there.advance(30_000);
    expect(there.stateOf('db')).toBe('stopping');
    expect(there.sessions.scripts).toHaveLength(1);
    there.troupe.send({ type: 'server.restart', server: 'db' });
    await there.advance(3_000);
    expect(there.sessions.scripts).toHaveLength(1);
    // It never closes, and cannot be killed: it is disposed of before the next begins.
    await there.advance(3_000);
    expect(there.sessions.of('db').commands).toContain('session.kill');
    expect(there.sessions.scripts).toHaveLength(1);
    await there.advance(500);
    const [first, second] = there.sessions.scripts;
    expect([first?.state, second?.state]).toEqual(['over', 'opening']);
  });

  it('T5: a restart of a failed server begins with a fresh budget', async () => {
    const there = await stage({ settings: db, obedient: [] });
    const fail = async (): Promise<void> => {
      there.sessions.of('db').fail(crash());
      await there.settle();
      await nextAttempt(there, 'db');
    };
    for (let attempt = 1; attempt <= 5; attempt += 1) await fail();
    expect(there.stateOf('db')).toBe('failed.attemptsExhausted');
    there.troupe.send({ type: 'server.restart', server: 'db' });
    await there.settle();
    expect(there.troupe.status('db')).toMatchObject({ state: 'connecting', attempt: 1 });
    for (let attempt = 1; attempt <= 4; attempt += 1) await fail();
    expect(there.troupe.status('db')).toMatchObject({ state: 'connecting', attempt: 5 });
    await fail();
    expect(there.stateOf('db')).toBe('failed.attemptsExhausted');
  });

  it('T6: concurrent restarts open one new session', async () => {
    const there = await stage({ settings: db });
    there.obedient = new Set();
    const made = Array.from({ length: 5 }, () => watch(there.troupe.restartAndWait('db')));
    await there.settle();
    expect(commandsOf(there)).toEqual(['session.open', 'session.list', 'session.close']);
    there.sessions.of('db').closed();
    await there.settle();
    bringUp(there.sessions.of('db'));
    await there.settle();
    expect(there.sessions.scripts).toHaveLength(2);
    expect(made.map(({ state }) => state)).toEqual(Array.from({ length: 5 }, () => 'done'));
  });

  it('T7: new settings during a reconnect abandon the old attempt', async () => {
    const there = await stage({ settings: db, obedient: [] });
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(there.stateOf('db')).toBe('backingOff.retrying');
    const old = there.troupe.status('db')?.generation;
    there.files.isWatched = false;
    there.files.write(settingsFile, servers({ db: 'newer' }));
    there.troupe.send({ type: 'settings.reload' });
    await there.settle();
    expect(there.troupe.status('db')).toMatchObject({ state: 'connecting', attempt: 1 });
    await there.advance(31_000);
    const generations = there.sessions.scripts.map(({ input }) => input.generation);
    expect(generations.slice(1)).not.toContain(old);
  });

  it('T8: edits while settings are being read cause exactly one more read', async () => {
    const there = await stage({ settings: db });
    const reads: unknown[] = [];
    let editsLeft = 5;
    there.files.onRead = (file, text) => {
      if (file !== settingsFile) return;
      reads.push(JSON.parse(text ?? '{}'));
      // Edits arrive while the file is being read.
      while (editsLeft > 0) {
        editsLeft -= 1;
        there.files.write(settingsFile, servers({ db: `edit-${editsLeft}` }));
        there.troupe.send({ type: 'settings.reload' });
      }
    };
    there.troupe.send({ type: 'settings.reload' });
    await there.settle();
    expect(reads).toEqual([db, servers({ db: 'edit-0' })]);
    await there.advance(1_000);
    const plan = await there.troupe.plan();
    expect(plan.map(({ step }) => step)).toEqual(['keep']);
  });

  it('T8: a pass requested by a listener runs after the current pass', async () => {
    const there = await stage({ settings: db });
    const passes: string[] = [];
    let isInside = false;
    there.troupe.on('reconciled', ({ plan }) => {
      expect(isInside).toBe(false);
      isInside = true;
      passes.push(plan.map(({ step }) => step).join());
      if (passes.length === 1) there.troupe.send({ type: 'allow.changed', allowed: null });
      isInside = false;
    });
    there.troupe.send({ type: 'allow.changed', allowed: [] });
    await there.settle();
    expect(passes).toEqual(['block', 'admit']);
    expect(there.stateOf('db')).toBe('ready');
  });

  it('T9: a server removed while it lists its tools stays removed', async () => {
    const there = await stage({ settings: db, obedient: [] });
    there.sessions.of('db').open();
    await there.apply(servers({}));
    there.actorOf('db').send({ type: 'session.listed', toolCount: 1, session: 1, at: 0 });
    await there.settle();
    expect(toolNames(there)).toEqual([]);
    there.sessions.of('db').closed();
    await there.settle();
    expect(there.troupe.status('db')).toBeUndefined();
    expect(there.childIds()).toEqual(['settingsSource', 'slots']);
  });

  it('T9: a server added again while it closes waits for the old session to end', async () => {
    const there = await stage({ settings: db });
    there.obedient = new Set();
    await there.apply(servers({}));
    await there.apply(db);
    expect(there.sessions.scripts).toHaveLength(1);
    expect(there.stateOf('db')).toBe('stopping');
    there.sessions.of('db').closed();
    await there.settle();
    expect(there.sessions.scripts).toHaveLength(2);
    expect(there.stateOf('db')).toBe('connecting');
  });

  it('T10: events from an earlier session are ignored', async () => {
    const there = await stage({ settings: db });
    there.troupe.send({ type: 'server.reconnect', server: 'db' });
    await there.settle();
    const before = there.troupe.status('db');
    there.actorOf('db').send({ type: 'calls.began', session: 1 });
    for (let count = 0; count < 9; count += 1) {
      there.actorOf('db').send({ type: 'call.failed', session: 1, at: 0 });
    }
    await there.settle();
    expect(there.troupe.status('db')).toEqual(before);
  });

  it('T11: tools listed after the deadline are dropped', async () => {
    const there = await stage({ settings: db, obedient: [] });
    there.sessions.of('db').open();
    await there.advance(30_000);
    expect(there.stateOf('db')).toBe('stopping');
    there.actorOf('db').send({ type: 'session.listed', toolCount: 1, session: 1, at: 0 });
    await there.settle();
    expect(toolNames(there)).toEqual([]);
    expect(there.troupe.status('db')).toMatchObject({ state: 'stopping', catalog: 'none' });
  });

  it('T12: tools that change while they are listed are listed again', async () => {
    const there = await stage({ settings: db, obedient: [] });
    const script = there.sessions.of('db');
    script.open();
    await there.settle();
    script.notify();
    script.list([tool('old')]);
    await there.settle();
    expect(commandsOf(there)).toEqual(['session.open', 'session.list', 'session.list']);
    script.list([tool('new')]);
    await there.settle();
    expect(toolNames(there)).toEqual(['mcp__db__new']);
  });

  it('T13: an approval for an outdated request is ignored', async () => {
    const there = await stage({ projectSettings: db });
    const [shown] = there.troupe.approvals();
    there.files.write('/project/.mcp.json', servers({ db: 'something-else' }));
    await there.advance(300);
    const grant = { type: 'approval.grant', server: 'db' } as const;
    expect(thrownBy(() => there.troupe.send({ ...grant, ...fingerprintOf(shown) }))).toMatchObject({
      code: 'PENDING_APPROVAL',
    });
    await there.settle();
    expect(there.stateOf('db')).toBe('blocked.pendingApproval');
    // The chart itself refuses it too, should it ever get there.
    const [now] = there.troupe.approvals();
    expect(now?.fingerprint).not.toBe(shown?.fingerprint);
    there.troupe.send({ ...grant, ...fingerprintOf(now) });
    await there.settle();
    expect(there.stateOf('db')).toBe('ready');
  });

  it('T13: an approval during a pass applies in the next', async () => {
    const there = await stage({ projectSettings: db, settings: servers({ own: 'srv' }) });
    let isGranted = false;
    there.troupe.on('reconciled', () => {
      if (isGranted) return;
      isGranted = true;
      there.troupe.send({ type: 'approval.grant', server: 'db' });
    });
    await there.apply(servers({ own: 'newer' }));
    expect(there.stateOf('db')).toBe('ready');
  });

  it('T14: a server disabled while it connects stays disabled', async () => {
    const there = await stage({ settings: db, obedient: [] });
    await there.apply(servers({ db: { command: 'srv', enabled: false } }));
    expect(there.stateOf('db')).toBe('stopping');
    there.actorOf('db').send({ type: 'session.opened', era: 'legacy', session: 1, at: 0 });
    there.sessions.of('db').closed();
    await there.advance(600_000);
    expect(there.stateOf('db')).toBe('disabled');
    expect(there.sessions.scripts).toHaveLength(1);
  });

  it('T15: a call in flight settles once when its transport dies, in either order of events', async () => {
    const there = await stage({ settings: db });
    const crashed = call(there, 'db');
    await there.settle();
    there.sessions.of('db').fail(crash());
    await there.advance(1_000);
    const lost = call(there, 'db');
    await there.settle();
    there.sessions.of('db').calls[0]?.fail(callFailure('crashed', true));
    await there.settle();
    there.sessions.of('db').fail(crash());
    await there.advance(1_000);
    for (const made of [crashed, lost]) {
      expect(made.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
    }
    const sent = there.sessions.scripts.flatMap(({ calls }) => calls);
    expect(sent).toHaveLength(2);
  });

  it('T16: aborting one call affects neither the others nor the server', async () => {
    const there = await stage({ settings: db });
    const controller = new AbortController();
    const aborted = call(there, 'db', { signal: controller.signal });
    const others = Array.from({ length: 3 }, () => call(there, 'db'));
    await there.settle();
    controller.abort();
    for (const sent of there.sessions.of('db').calls) sent.answer(pong);
    await there.settle();
    expect(aborted.error?.code).toBe('CANCELLED');
    expect(others.map(({ state }) => state)).toEqual(['done', 'done', 'done']);
    expect(there.sessions.scripts).toHaveLength(1);
  });

  it('T17: a close that never ends is bounded', async () => {
    const there = await stage({ settings: servers({ db: 'srv', web: remote }), obedient: [] });
    there.troupe.send({ type: 'server.stop', server: 'db' });
    await there.advance(5_999);
    expect(there.stateOf('db')).toBe('stopping');
    // Commands that are repeated while it closes do not renew the deadline.
    there.troupe.send({ type: 'server.stop', server: 'db' });
    await there.advance(1);
    expect(there.sessions.of('db').commands).toContain('session.kill');
    expect(there.stateOf('db')).toBe('stopping');
    await there.advance(500);
    expect(there.stateOf('db')).toBe('stopped');
    expect(there.sessions.of('db').state).toBe('over');
    const stopped = watch(there.troupe.stop());
    await there.advance(5_000);
    expect(stopped.state).toBe('done');
    expect(there.sessions.of('web').state).toBe('over');
  });

  it('T18: a stop wins over a crash loop in either order', async () => {
    for (const isStopFirst of [true, false]) {
      const there = await stage({ settings: db });
      for (let count = 0; count < 4; count += 1) {
        there.sessions.of('db').fail(crash());
        await there.advance(8_000);
      }
      const script = there.sessions.of('db');
      if (isStopFirst) there.troupe.send({ type: 'server.stop', server: 'db' });
      if (script.state === 'open') script.fail(crash());
      if (!isStopFirst) there.troupe.send({ type: 'server.stop', server: 'db' });
      await there.advance(600_000);
      expect(there.stateOf('db')).toBe('stopped');
    }
  });

  it('T19: a throwing listener blocks neither other events nor the shutdown', async () => {
    const there = await stage({ settings: db });
    const told: string[] = [];
    for (const name of ['status.changed', 'tools.changed', 'reconciled'] as const) {
      there.troupe.on(name, () => {
        throw new Error('a listener of the host');
      });
      there.troupe.on(name, () => told.push(name));
    }
    const stopped = watch(there.troupe.stop());
    await there.settle();
    expect(stopped.state).toBe('done');
    expect(new Set(told)).toEqual(new Set(['status.changed', 'tools.changed']));
    expect(there.errors.length).toBe(told.length);
  });

  it('T20: a server that ends as soon as it starts is started a bounded number of times', async () => {
    const there = await stage({ settings: db, obedient: [] });
    for (let second = 0; second < 3_600; second += 1) {
      const script = there.sessions.of('db');
      if (script.state === 'opening') script.fail(crash());
      await there.advance(1_000);
    }
    expect(there.sessions.scripts).toHaveLength(5);
    expect(there.stateOf('db')).toBe('failed.attemptsExhausted');
  });

  it('T20: a server that ends as soon as it is ready is suspended', async () => {
    const there = await stage({ settings: db });
    for (let count = 0; count < 600; count += 1) {
      const script = there.sessions.of('db');
      if (script.state === 'open') script.fail(crash());
      await there.advance(100);
    }
    expect(there.sessions.scripts).toHaveLength(5);
    expect(there.stateOf('db')).toBe('suspended.crashLoop');
  });

  it('T21: a half-open circuit sends one probe while calls fail', async () => {
    const there = await stage({ settings: db });
    const script = there.sessions.of('db');
    for (let count = 0; count < 5; count += 1) {
      call(there, 'db');
      await there.settle();
      script.calls.at(-1)?.fail(callFailure('timeout', true));
      await there.settle();
    }
    there.obedient = new Set();
    await there.advance(30_000);
    expect(there.troupe.status('db')?.circuit).toBe('halfOpen');
    const raced = Array.from({ length: 50 }, () => call(there, 'db'));
    await there.settle();
    expect(new Set(raced.map(({ error }) => error?.code))).toEqual(new Set(['CIRCUIT_OPEN']));
    // The verdict is there by then, whatever the probe finds; who came back at once would storm.
    expect(new Set(raced.map(({ error }) => error?.retryAfterMs))).toEqual(new Set([10_000]));
    expect(commandsOf(there)).toEqual(['session.open', 'session.list', 'session.list']);
    expect(script.calls).toHaveLength(5);
    script.list([tool('query')]);
    await there.settle();
    expect(there.troupe.status('db')?.circuit).toBe('closed');
  });

  it('T21: an unanswered probe reopens the circuit for longer', async () => {
    const there = await stage({ settings: db });
    const script = there.sessions.of('db');
    for (let count = 0; count < 5; count += 1) {
      call(there, 'db');
      await there.settle();
      script.calls.at(-1)?.fail(callFailure('timeout', true));
      await there.settle();
    }
    there.obedient = new Set();
    await there.advance(40_000);
    expect(there.troupe.status('db')?.circuit).toBe('open');
    const refused = call(there, 'db');
    await there.settle();
    expect(refused.error?.retryAfterMs).toBe(60_000);
  });

  it('T21: an outage does not count as a failed probe, and calls resume with the server', async () => {
    const there = await stage({ settings: servers({ db: remote }) });
    for (let count = 0; count < 5; count += 1) {
      call(there, 'db');
      await there.settle();
      there.sessions.of('db').calls.at(-1)?.fail(callFailure('timeout', true));
      await there.settle();
    }
    there.obedient = new Set();
    there.sessions.of('db').fail(failure('transport'));
    for (let attempt = 1; attempt <= 12; attempt += 1) {
      await nextAttempt(there, 'db');
      there.sessions.of('db').fail(failure('unavailable'));
      await there.settle();
    }
    expect(there.troupe.status('db')).toMatchObject({ state: 'backingOff', circuit: 'open' });
    there.obedient = null;
    await nextAttempt(there, 'db');
    expect(there.troupe.status('db')).toMatchObject({ state: 'ready', circuit: 'closed' });
  });

  it('T22: a call that arrives while an idle server closes gets a new session', async () => {
    const settings = servers({ db: { command: 'srv', idleStopMs: 5_000 } });
    const there = await stage({ settings });
    there.obedient = new Set();
    await there.advance(5_000);
    expect(there.stateOf('db')).toBe('stopping');
    const made = call(there, 'db');
    there.obedient = null;
    there.sessions.of('db').closed();
    await there.settle();
    there.sessions.of('db').calls[0]?.answer(pong);
    await there.settle();
    expect(made.state).toBe('done');
    expect(there.sessions.scripts).toHaveLength(2);
  });

  it('T22: a server with running calls is never idle', async () => {
    const settings = servers({ db: { command: 'srv', idleStopMs: 5_000 } });
    const there = await stage({ settings });
    const made = call(there, 'db');
    await there.advance(59_000);
    expect(there.stateOf('db')).toBe('ready');
    there.sessions.of('db').calls[0]?.answer(pong);
    // Within a second another call would have been the same work.
    await there.advance(5_999);
    expect(made.state).toBe('done');
    expect(there.stateOf('db')).toBe('ready');
    await there.advance(1);
    expect(there.stateOf('db')).toBe('dormant');
  });

  it('T23: concurrent authorization failures ask the user once', async () => {
    const there = await stage({ settings: servers({ db: remote }) });
    const asked: string[] = [];
    there.troupe.on('auth.needed', ({ server }) => asked.push(server));
    const made = Array.from({ length: 8 }, () => call(there, 'db'));
    await there.settle();
    for (const sent of there.sessions.of('db').calls) sent.fail(callFailure('authRequired', true));
    there.sessions.of('db').fail(failure('authRequired'));
    await there.settle();
    expect(new Set(made.map(({ error }) => error?.code))).toEqual(new Set(['AUTH_REQUIRED']));
    expect(asked).toEqual(['db']);
    expect(there.stateOf('db')).toBe('authRequired');
    there.troupe.send({ type: 'auth.completed', server: 'db' });
    await there.settle();
    expect(there.stateOf('db')).toBe('ready');
  });

  it('T24: an edit missed by the watcher is applied by the next pass', async () => {
    const there = await stage({ settings: db });
    there.files.isWatched = false;
    there.files.write(settingsFile, servers({ db: 'newer' }));
    await there.advance(60_000);
    expect(there.sessions.scripts).toHaveLength(1);
    there.troupe.send({ type: 'settings.reload' });
    await there.settle();
    expect(there.sessions.scripts).toHaveLength(2);
  });

  it('T24: an edit followed by its reversal changes nothing', async () => {
    const there = await stage({ settings: db });
    there.files.write(settingsFile, servers({ db: 'newer' }));
    await there.advance(100);
    await there.apply(db);
    expect(there.sessions.scripts).toHaveLength(1);
    await there.apply(servers({ db: 'newer' }));
    await there.apply(db);
    const generations = there.sessions.scripts.map(({ input }) => input.generation);
    expect(generations).toHaveLength(3);
    expect(generations[2]).toBe(generations[0]);
  });
});

function fingerprintOf(request: { readonly fingerprint: string } | undefined): {
  readonly fingerprint: string;
} {
  return { fingerprint: request?.fingerprint ?? '' };
}
