/** The life of one server under a real root, told as stories. */

import { describe, expect, it } from 'vitest';
import { expectStory } from '../golden.ts';
import { entry, failure, type SmallEntry, type Story, settingsOf, startStory } from '../story.ts';
import { attempts } from './small-server.ts';

/** Starts a troupe of one server, `db`, and begins the story there. */
function withServer(given: SmallEntry = {}): Story {
  const story = startStory();
  story.load(settingsOf([entry('db', given)]));
  story.beginHere();
  return story;
}

/** The same with the server ready. */
function withReadyServer(given: SmallEntry = {}): Story {
  const story = withServer(given);
  story.serve('db');
  story.beginHere();
  return story;
}

const asked = { health: { mode: 'ping', failures: 2 } } as const;

describe('a server', () => {
  it('starts and is ready once its tools are listed', async () => {
    const story = startStory();
    story.load(settingsOf([entry('db')]));
    story.clock.advanceBy(800);
    story.serve('db');
    await expectStory(story, 'server/start-to-ready');
  });

  it('backs off between failing starts until its attempts are used up', async () => {
    const story = withServer({ policy: attempts(3) });
    story.chapter('the command is not found');
    story.sessions.of('db').fail(failure('unavailable'));
    story.untilNextSession();
    story.chapter('the handshake is never answered');
    story.clock.advanceBy(10_000);
    story.sessions.of('db').closed();
    story.untilNextSession();
    story.chapter('the list fails');
    story.sessions.of('db').open();
    story.sessions.of('db').failList(failure('protocol'));
    story.sessions.of('db').closed();
    story.clock.advanceBy(600_000);
    await expectStory(story, 'server/failing-start');
  });

  it('fails at once when a variable is missing, and is tried again on demand', async () => {
    const story = withServer();
    const lacking = failure('unavailable', { missing: { what: 'variable', name: 'TOKEN' } });
    story.sessions.of('db').fail(lacking);
    story.clock.advanceBy(600_000);
    story.chapter('a call demands it');
    story.tell('db.0', { type: 'server.demanded' });
    story.sessions.of('db').fail(lacking);
    story.chapter('a start demands it, and the variable is set');
    story.tell('db.0', { type: 'server.start' });
    story.serve('db');
    await expectStory(story, 'server/not-startable');
  });

  it('fails before its last attempt when it says the same three times', async () => {
    const story = withServer({ policy: attempts(5) });
    const exit = failure('crashed', { exitCode: 1, explanation: 'pid 1: no key' });
    story.sessions.of('db').fail(exit);
    story.untilNextSession();
    story.sessions.of('db').fail({ ...exit, explanation: 'pid 2: no key' });
    story.untilNextSession();
    story.sessions.of('db').fail({ ...exit, explanation: 'pid 3: no key' });
    story.clock.advanceBy(600_000);
    await expectStory(story, 'server/same-exits');
  });

  it('recovers from a crash', async () => {
    const story = withReadyServer();
    story.clock.advanceBy(5_000);
    story.sessions.of('db').fail(failure('crashed', { exitCode: 1 }));
    story.untilNextSession();
    story.serve('db');
    story.chapter('a sustained service ends the outage');
    story.clock.advanceBy(60_000);
    await expectStory(story, 'losses/crash-and-recovery');
  });

  it('is suspended by a crash loop and released by a restart', async () => {
    const story = withReadyServer();
    story.sessions.of('db').fail(failure('crashed'));
    story.untilNextSession();
    story.serve('db');
    story.sessions.of('db').fail(failure('crashed'));
    story.chapter('time and demand change nothing');
    story.clock.advanceBy(600_000);
    story.tell('db.0', { type: 'server.demanded' });
    story.send({ type: 'server.restart', server: 'db' });
    await expectStory(story, 'losses/crash-loop');
  });

  it('counts crashes from zero when it is started after a suspension', async () => {
    const story = withReadyServer();
    story.sessions.of('db').fail(failure('crashed'));
    story.untilNextSession();
    story.serve('db');
    story.sessions.of('db').fail(failure('crashed'));
    story.beginHere();
    story.send({ type: 'server.start', server: 'db' });
    story.serve('db');
    story.sessions.of('db').fail(failure('crashed'));
    await expectStory(story, 'losses/start-after-suspension');
  });

  it('is suspended by a storm of lost connections', async () => {
    const story = withReadyServer({ transport: 'http', policy: attempts(9) });
    for (let loss = 1; loss <= 3; loss += 1) {
      story.chapter(`loss ${loss}`);
      story.sessions.of('db').fail(failure('transport'));
      if (loss === 3) break;
      story.untilNextSession();
      story.serve('db');
    }
    story.clock.advanceBy(600_000);
    await expectStory(story, 'losses/reconnect-storm');
  });

  it('retries a lost remote server quietly at long intervals', async () => {
    const story = withServer({ transport: 'http' });
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      story.chapter(`attempt ${attempt}`);
      story.sessions.of('db').fail(failure('unavailable'));
      story.untilNextSession();
    }
    story.chapter('it is back');
    story.serve('db');
    await expectStory(story, 'losses/lost-remote');
  });

  it('stops while it connects, and stays stopped', async () => {
    const story = withServer();
    story.send({ type: 'server.stop', server: 'db' });
    story.chapter('a demand and a reconnect change nothing');
    story.tell('db.0', { type: 'server.demanded' });
    story.send({ type: 'server.reconnect', server: 'db' });
    story.sessions.of('db').closed();
    story.clock.advanceBy(600_000);
    await expectStory(story, 'server/stop-while-connecting');
  });

  it('stops while backing off and cancels its timer', async () => {
    const story = withServer();
    story.sessions.of('db').fail(failure('transport'));
    story.send({ type: 'server.stop', server: 'db' });
    story.clock.advanceBy(600_000);
    expect(story.clock.pendingCount).toBe(0);
    await expectStory(story, 'server/stop-while-backing-off');
  });

  it('starts with a full budget when restarted after it failed', async () => {
    const story = withServer();
    story.sessions.of('db').fail(failure('versionUnsupported'));
    story.send({ type: 'server.restart', server: 'db' });
    story.serve('db');
    await expectStory(story, 'server/restart-of-a-failed-server');
  });

  it('force-closes a session that does not close by itself', async () => {
    const story = withReadyServer();
    story.send({ type: 'server.reconnect', server: 'db' });
    story.clock.advanceBy(2_999);
    story.chapter('asking again does not prolong the deadline');
    story.send({ type: 'server.restart', server: 'db' });
    story.clock.advanceBy(1);
    story.chapter('the next session waits for the end of this one');
    story.sessions.of('db').closed();
    story.serve('db');
    await expectStory(story, 'server/close-by-force');
  });

  it('does not count attempts while the host lacks the resources to start it', () => {
    const story = startStory();
    story.load(settingsOf([entry('db', { policy: attempts(1) })]));
    for (let time = 0; time < 10; time += 1) {
      story.sessions.of('db').fail(failure('notStarted'));
      expect(story.snapshotOf('db.0').context.tries.attempt).toBe(0);
      story.untilNextSession();
    }
    story.serve('db');
    expect(story.snapshotOf('db.0').hasTag('usable')).toBe(true);
  });

  it('stops serving when its session breaks and settles once its process has ended', async () => {
    const story = withReadyServer();
    story.sessions.of('db').breakOff();
    expect(story.snapshotOf('db.0').hasTag('usable')).toBe(false);
    story.clock.advanceBy(2_000);
    story.sessions.of('db').fail(failure('cleanExit'));
    await expectStory(story, 'server/broken-off');
  });

  it('abandons a session that neither ends nor can be killed', async () => {
    const story = withReadyServer();
    story.sessions.of('db').breakOff();
    story.clock.advanceBy(3_000);
    expect(story.sessions.of('db').commands).toContain('session.kill');
    story.chapter('half a second later');
    story.clock.advanceBy(500);
    await expectStory(story, 'server/abandoned');
  });

  it('lists its tools again when they change', async () => {
    const story = withReadyServer();
    story.sessions.of('db').notify();
    story.sessions.of('db').list([]);
    await expectStory(story, 'serving/list-changed');
  });

  it('retries a failed list and keeps the old tools meanwhile', async () => {
    const story = withReadyServer();
    story.sessions.of('db').notify();
    story.sessions.of('db').failList({ kind: 'protocol', message: 'It made no sense.' });
    story.chapter('half a minute later');
    story.clock.advanceBy(30_000);
    story.sessions.of('db').list([]);
    await expectStory(story, 'serving/list-failed');
  });

  it('stays up for months when it has no idle deadline', () => {
    const story = withReadyServer({ policy: { idle: { stopMs: null }, catalog: { ttlMs: null } } });
    story.clock.advanceBy(2_147_483_647 * 2);
    expect(story.sessions.scripts).toHaveLength(1);
    expect(story.sessions.of('db').state).toBe('open');
  });

  it('stops when idle and starts when demanded', async () => {
    const story = withServer({ startup: 'lazy' });
    story.tell('db.0', { type: 'server.demanded' });
    story.serve('db');
    story.clock.advanceBy(200_000);
    story.tell('db.0', { type: 'calls.began', session: 1 });
    story.clock.advanceBy(400_000);
    story.tell('db.0', { type: 'calls.drained', session: 1 });
    story.chapter('five idle minutes');
    story.clock.advanceBy(300_000);
    story.sessions.of('db').closed();
    story.tell('db.0', { type: 'server.demanded' });
    await expectStory(story, 'server/idle-stop-and-demand');
  });

  it('applies a new idle deadline immediately', async () => {
    const story = withReadyServer({ policy: { idle: { stopMs: null } } });
    story.clock.advanceBy(1_000_000);
    story.load(settingsOf([entry('db', { policy: { idle: { stopMs: 300_000 } } })]));
    story.clock.advanceBy(300_000);
    await expectStory(story, 'server/idle-deadline-edited');
  });

  it('reports its impairments while it serves', async () => {
    const story = withReadyServer();
    story.sessions.of('db').impair('flooding');
    story.sessions.of('db').recover('flooding');
    await expectStory(story, 'serving/degraded');
  });

  it('is degraded from a failed health check until one succeeds', async () => {
    const story = withReadyServer({ policy: asked });
    story.clock.advanceBy(30_000);
    story.sessions.of('db').probed();
    story.chapter('a health check goes unanswered, the answer comes late');
    story.clock.advanceBy(40_000);
    story.sessions.of('db').probed();
    story.chapter('the server does not know the method');
    story.clock.advanceBy(30_000);
    story.sessions.of('db').probed('unknownMethod');
    await expectStory(story, 'serving/health-look-answered-late');
  });

  it('is disconnected after enough consecutive failed health checks', async () => {
    const story = withReadyServer({ policy: asked });
    story.clock.advanceBy(40_000);
    story.chapter('the connection reports the failure');
    story.clock.advanceBy(30_000);
    story.sessions.of('db').probed('none');
    story.sessions.of('db').closed();
    story.untilNextSession();
    story.serve('db');
    await expectStory(story, 'serving/health-given-up');
  });

  it('is disconnected after flooding for 10 s, and suspended the third time', async () => {
    const story = withReadyServer({ policy: { restart: { maxAttempts: 5 } } });
    for (const chapter of ['the first flood', 'the second flood', 'the third flood']) {
      story.chapter(chapter);
      story.sessions.of('db').pause();
      story.clock.advanceBy(10_000);
      story.sessions.of('db').closed();
      if (chapter === 'the third flood') break;
      story.untilNextSession();
      story.serve('db');
    }
    await expectStory(story, 'serving/floods');
  });

  it('is not disconnected while a call is running', async () => {
    const story = withReadyServer({ policy: asked });
    story.tell('db.0', { type: 'calls.began', session: 1 });
    story.clock.advanceBy(200_000);
    expect(story.sessions.of('db').state).toBe('open');
    story.chapter('the call is done, and the server does not answer still');
    story.tell('db.0', { type: 'calls.drained', session: 1 });
    story.beginHere();
    story.clock.advanceBy(40_000);
    await expectStory(story, 'serving/health-and-a-slow-call');
  });

  it('reports why a health check failed', () => {
    const story = withReadyServer({ policy: asked });
    story.clock.advanceBy(30_000);
    story.sessions.of('db').probed('none', failure('unavailable'));
    expect(story.snapshotOf('db.0').context.lastError).toEqual(failure('unavailable'));
  });

  it('treats "unknown method" as a failure if the policy says so', () => {
    const strict = { ...asked.health, treatMethodNotFoundAsAlive: false };
    const story = withReadyServer({ policy: { health: strict } });
    story.clock.advanceBy(30_000);
    story.sessions.of('db').probed('unknownMethod');
    expect(story.snapshotOf('db.0').context.peer.impairments).toMatchObject([
      { reason: 'healthCheck' },
    ]);
  });

  it('is suspended when one session after another is abandoned', () => {
    const story = withReadyServer({
      policy: {
        health: { mode: 'ping', everyMs: 1_000, failures: 1 },
        storm: { reconnectStorm: { limit: 3, windowMs: 30_000, action: 'suspend' } },
        restart: { maxAttempts: 9 },
      },
    });
    for (let loss = 1; loss <= 3; loss += 1) {
      story.clock.advanceBy(2_000);
      story.sessions.of('db').closed();
      if (loss === 3) break;
      story.untilNextSession();
      story.serve('db');
    }
    const { value } = story.snapshotOf('db.0');
    expect(value.connection).toEqual({ parked: { suspended: 'reconnectStorm' } });
  });

  it('applies a new health-check interval immediately', async () => {
    const story = withReadyServer({ policy: asked });
    story.clock.advanceBy(20_000);
    story.load(settingsOf([entry('db', { policy: { health: { mode: 'ping', everyMs: 5_000 } } })]));
    story.tell('db.0', { type: 'calls.began', session: 1 });
    story.clock.advanceBy(5_000);
    story.sessions.of('db').probed();
    story.chapter('the checks are turned off');
    story.load(settingsOf([entry('db')]));
    story.clock.advanceBy(100_000);
    await expectStory(story, 'serving/health-edited');
  });

  it('logs in and connects again', async () => {
    const story = withServer({ transport: 'http' });
    story.sessions.of('db').fail(failure('authRequired'));
    story.clock.advanceBy(600_000);
    story.send({ type: 'auth.completed', server: 'db' });
    story.serve('db');
    await expectStory(story, 'server/log-in');
  });

  it("waits for a busy peer's Retry-After", async () => {
    const story = withServer({ transport: 'http' });
    story.sessions.of('db').fail(failure('rateLimited', { retryAfterMs: 42_000 }));
    story.clock.advanceBy(41_999);
    story.chapter('not yet');
    story.clock.advanceBy(1);
    await expectStory(story, 'losses/retry-after');
  });

  it('keeps its own backoff when a busy peer requests less', async () => {
    const delays = { initialMs: 4_000, factor: 2, maxMs: 30_000, floorMs: 4_000 };
    const story = withServer({ transport: 'http', policy: { restart: { delays } } });
    story.sessions.of('db').fail(failure('rateLimited', { retryAfterMs: 1_000 }));
    story.untilNextSession();
    await expectStory(story, 'losses/retry-after-too-short');
  });

  it('leaves the queue after a long wait and requests a permit again', async () => {
    const story = startStory();
    story.load(settingsOf([entry('db')], { slots: { local: 0, remote: 0 } }));
    story.beginHere();
    story.clock.advanceBy(65_000);
    story.load(settingsOf([entry('db')]));
    await expectStory(story, 'server/queue-deadline');
  });
});

describe('a server when the machine wakes', () => {
  it('is checked once if it responds', async () => {
    const story = withReadyServer();
    story.send({ type: 'system.woke' });
    story.clock.advanceBy(2_100);
    story.sessions.of('db').probed();
    story.clock.advanceBy(100_000);
    await expectStory(story, 'serving/wake-answered');
  });

  it('is checked repeatedly until the network is back', async () => {
    const story = withReadyServer({ transport: 'http' });
    story.send({ type: 'system.woke' });
    story.clock.advanceBy(2_100);
    story.sessions.of('db').probed('none');
    story.clock.advanceBy(2_000);
    story.sessions.of('db').probed();
    await expectStory(story, 'serving/wake-before-the-network');
  });

  it('reconnects within half a minute if it was lost', () => {
    const story = withReadyServer({ transport: 'http' });
    const start = story.clock.now();
    story.send({ type: 'system.woke' });
    while (story.sessions.of('db').state === 'open') story.clock.runNext();
    story.sessions.of('db').closed();
    story.untilNextSession();
    story.serve('db');
    expect(story.clock.now() - start).toBeLessThan(30_000);
  });

  it('keeps its attempt and restarts the handshake deadline', async () => {
    const story = withServer({ policy: attempts(2) });
    story.sessions.of('db').fail(failure('transport'));
    story.chapter('backing off');
    story.send({ type: 'system.woke' });
    story.untilNextSession();
    story.chapter('connecting');
    story.clock.advanceBy(9_999);
    story.send({ type: 'system.woke' });
    story.clock.advanceBy(9_999);
    expect(story.sessions.of('db').state).toBe('opening');
    story.sessions.of('db').fail(failure('transport'));
    story.untilNextSession();
    expect(story.snapshotOf('db.0').context.tries.attempt).toBe(2);
    await expectStory(story, 'serving/wake-while-starting');
  });

  it("still waits for its peer's Retry-After", () => {
    const story = withServer({ transport: 'http' });
    story.sessions.of('db').fail(failure('rateLimited', { retryAfterMs: 42_000 }));
    story.send({ type: 'system.woke' });
    story.clock.advanceBy(41_999);
    expect(story.sessions.scripts).toHaveLength(1);
  });

  it('is checked at its own time within two seconds, or later with a great many servers', () => {
    const askedAt = (count: number) => {
      const story = startStory();
      story.oblige();
      const crowd = Array.from({ length: count }, (_, index) => `s${index}`);
      const slots = { local: count, remote: count };
      story.load(
        settingsOf(
          crowd.map((name) => entry(name, { transport: 'http' })),
          { slots },
        ),
      );
      const times: number[] = [];
      const before = story.sessions.onCommand;
      story.sessions.onCommand = (script, command) => {
        before?.(script, command);
        if (command.type === 'session.probe') times.push(story.clock.now() - start);
        if (command.type === 'session.probe') script.probed();
      };
      const start = story.clock.now();
      story.send({ type: 'system.woke' });
      story.clock.advanceBy(60_000);
      return times;
    };
    const few = askedAt(40);
    expect(few).toHaveLength(40);
    expect(Math.max(...few)).toBeLessThan(2_100);
    expect(Math.max(...few) - Math.min(...few)).toBeGreaterThan(1_500);
    const many = askedAt(200);
    expect(many).toHaveLength(200);
    expect(Math.max(...many)).toBeGreaterThan(3_500);
  });
});

describe('the circuit', () => {
  function withOpenCircuit(): Story {
    // A list may take longer than a probe.
    const story = withReadyServer({ policy: { connect: { listTimeoutMs: 30_000 } } });
    story.tell('db.0', { type: 'call.failed', session: 1, at: 0 });
    story.tell('db.0', { type: 'call.succeeded', session: 1 });
    story.chapter('two in a row');
    story.tell('db.0', { type: 'call.failed', session: 1, at: 0 });
    story.tell('db.0', { type: 'call.failed', session: 1, at: 0 });
    story.clock.advanceBy(30_000);
    return story;
  }

  it('opens after a run of failed calls and closes when the probe succeeds', async () => {
    const story = withOpenCircuit();
    story.sessions.of('db').list([]);
    await expectStory(story, 'losses/circuit-closes');
  });

  it('opens again for twice as long when the probe hangs or fails', async () => {
    const story = withOpenCircuit();
    story.chapter('the probe hangs');
    story.clock.advanceBy(10_000);
    story.clock.advanceBy(59_999);
    story.chapter('the longest cool-down is over');
    story.clock.advanceBy(1);
    story.sessions.of('db').failList(failure('protocol'));
    story.clock.advanceBy(60_000);
    story.chapter('a user starts it again');
    story.send({ type: 'server.stop', server: 'db' });
    story.sessions.of('db').closed();
    story.clock.advanceBy(600_000);
    await expectStory(story, 'losses/circuit-opens-again');
  });

  it('replaces the session after a run of failed calls and counts from zero in the next', async () => {
    const story = withReadyServer({ policy: { breaker: { action: 'reconnect' } } });
    story.tell('db.0', { type: 'call.failed', session: 1, at: 0 });
    story.tell('db.0', { type: 'call.failed', session: 1, at: 0 });
    story.sessions.of('db').closed();
    story.serve('db');
    story.chapter('one more failed call changes nothing');
    story.tell('db.0', { type: 'call.failed', session: 2, at: 0 });
    await expectStory(story, 'losses/circuit-exchanges-session');
  });
});
