/** The life of one session, told as stories. */

import { describe, expect, it } from 'vitest';
import { presets } from '../../../src/policies/presets/presets.ts';
import { expectStory } from '../golden.ts';
import {
  connected,
  ended,
  failed,
  failure,
  launched,
  listed,
  pinged,
  remote,
  resolved,
  type SmallSession,
  unconnected,
} from './small-session.ts';
import { type SessionStage, stageSession } from './stage.ts';

const http = { transport: 'http' } as const;

/** Starts a session and begins the story when it is open. */
function open(given: SmallSession = {}): SessionStage {
  const stage = stageSession(given);
  stage.open();
  stage.beginHere();
  return stage;
}

/** Starts a local server whose era is unknown. */
function ask(): SessionStage {
  const stage = stageSession();
  stage.answer('resolveTarget', resolved({ asksEra: true }));
  stage.answer('launchProcess', launched);
  return stage;
}

/** Has an address refuse the handshake as servers of the SSE transport do. */
function refuse(): SessionStage {
  const stage = stageSession(http);
  stage.answer('resolveTarget', resolved({ ...remote, asksEra: true }));
  stage.answer('connectClient', unconnected('protocol', { mayBeOverSse: true }));
  return stage;
}

describe('an opening session', () => {
  it('probes the era and opens when the server responds', async () => {
    const stage = ask();
    stage.report({ type: 'wire.sent', method: 'server/discover' });
    stage.answer('connectClient', connected({ era: 'modern', pid: 7 }));
    stage.answer('firstList', listed());
    expect(stage.snapshot().value).toHaveProperty('open');
    await expectStory(stage, 'session/era-answered');
  });

  it('continues with the old handshake on the same process when the server refuses the probe', async () => {
    const stage = ask();
    stage.report({ type: 'wire.sent', method: 'server/discover' });
    stage.report({ type: 'wire.sent', method: 'initialize' });
    stage.chapter('an exit is a failure from now on');
    stage.report(ended('crashed'));
    stage.answer('closeConnection', { at: 0, evidence: { exitCode: 1 } });
    expect(stage.requests).not.toContain('launchProcess true');
    await expectStory(stage, 'session/era-refused');
  });

  it('restarts the server with the old handshake when the probe ends its process', async () => {
    const stage = ask();
    stage.report({ type: 'wire.sent', method: 'server/discover' });
    stage.report(ended('crashed'));
    stage.chapter('the exit is reported again, and the process group ends');
    stage.report(ended('crashed'));
    stage.answer('closeConnection', { at: 5, evidence: { exitCode: 1 } });
    stage.answer('launchProcess', launched);
    stage.answer('connectClient', connected({ pid: 8 }));
    stage.answer('firstList', listed());
    expect(stage.facts.map(({ type }) => type)).toEqual(['session.opened', 'session.listed']);
    await expectStory(stage, 'session/second-start');
  });

  it('restarts the server when its handshake fails before the exit is known', () => {
    const stage = ask();
    stage.report({ type: 'wire.sent', method: 'server/discover' });
    stage.answer('connectClient', unconnected('crashed', { wasAnswered: false }));
    expect(stage.snapshot().value).toEqual({ opening: 'leaving' });
  });

  it('does not restart a server that exits before it is probed', () => {
    const stage = ask();
    stage.report(ended('crashed'));
    expect(stage.snapshot().value).toBe('releasing');
  });

  it('starts a server of a known era only once', () => {
    const stage = stageSession();
    stage.answer('resolveTarget', resolved());
    stage.answer('launchProcess', launched);
    stage.answer('connectClient', unconnected('crashed', { wasAnswered: false }));
    expect(stage.snapshot().value).toBe('releasing');
    expect(stage.requests).not.toContain('launchProcess true');
  });

  it('does not reconnect to a remote server whose connection ends during the probe', () => {
    const stage = stageSession(http);
    stage.answer('resolveTarget', resolved({ ...remote, asksEra: true }));
    stage.report(ended('transport'));
    expect(stage.snapshot().value).toBe('releasing');
    expect(stage.snapshot().context.failure).toEqual(failure('transport'));
  });

  it('reports the second failure when a server fails twice', async () => {
    const stage = ask();
    stage.report({ type: 'wire.sent', method: 'server/discover' });
    stage.report(ended('crashed'));
    stage.answer('closeConnection', { at: 0, evidence: {} });
    stage.answer('launchProcess', launched);
    stage.beginHere();
    stage.answer('connectClient', unconnected('versionUnsupported', { wasAnswered: false }));
    stage.answer('closeConnection', { at: 9, evidence: { stderrTail: ['too old'] } });
    expect(stage.ends).toEqual([
      {
        at: 9,
        wasOpen: false,
        failure: failure('versionUnsupported'),
        isFlood: false,
        evidence: { stderrTail: ['too old'] },
      },
    ]);
    await expectStory(stage, 'session/second-start-fails');
  });

  it('falls back to SSE when the address refuses the way older servers do', async () => {
    const stage = refuse();
    stage.report(ended('protocol'));
    stage.answer('closeConnection', { at: 0, evidence: {} });
    stage.answer('connectClient', connected());
    stage.answer('firstList', listed());
    await expectStory(stage, 'session/sse-fallback');
  });

  it('reports the first refusal when SSE fails too', async () => {
    const stage = refuse();
    stage.answer('closeConnection', { at: 0, evidence: {} });
    stage.answer('connectClient', unconnected('authRequired'));
    stage.answer('closeConnection', { at: 3, evidence: {} });
    expect(stage.ends).toMatchObject([{ failure: failure('protocol'), wasOpen: false }]);
    await expectStory(stage, 'session/sse-fallback-fails');
  });

  it("closes when the handshake times out, and reports the process's last output", async () => {
    const stage = stageSession();
    stage.answer('resolveTarget', resolved());
    stage.answer('launchProcess', launched);
    stage.clock.advanceBy(10_000);
    stage.answer('closeConnection', { at: 10_100, evidence: { stderrTail: ['No database.'] } });
    expect(stage.ends).toMatchObject([
      { failure: { kind: 'initTimeout' }, evidence: { stderrTail: ['No database.'] } },
    ]);
    await expectStory(stage, 'session/late-connect');
  });

  it('restarts the handshake deadline when the machine wakes', async () => {
    const stage = stageSession(http);
    stage.clock.advanceBy(9_999);
    stage.chapter('the machine slept');
    stage.command({ type: 'server.woke', spreadMs: 2_000 });
    stage.clock.advanceBy(9_999);
    expect(stage.snapshot().value).toEqual({ opening: 'resolving' });
    stage.clock.advanceBy(1);
    expect(stage.snapshot().value).toBe('closing');
    await expectStory(stage, 'session/wake-while-opening');
  });

  it("applies the policy's deadlines as of the moment they start", () => {
    const stage = stageSession();
    const { policy } = stage.snapshot().context;
    const connect = { ...policy.connect, listTimeoutMs: 1_000 };
    stage.command({ type: 'policy.updated', policy: { ...policy, connect } });
    stage.connect();
    stage.clock.advanceBy(1_000);
    expect(stage.snapshot().value).toBe('closing');
  });

  it.each(['http', 'ws', 'sse'] as const)(
    'waits indefinitely when the policy sets no deadline: %s',
    (transport) => {
      const stage = stageSession({ transport, policy: { connect: { remoteTimeoutMs: null } } });
      stage.clock.advanceBy(24 * 3_600_000);
      expect(stage.snapshot().value).toEqual({ opening: 'resolving' });
    },
  );

  it('fails immediately when its settings cannot be resolved or its command is not found', () => {
    const unresolved = stageSession();
    unresolved.answer('resolveTarget', failed('notStarted'));
    const unlaunched = stageSession();
    unlaunched.answer('resolveTarget', resolved());
    unlaunched.answer('launchProcess', failed('unavailable'));
    for (const stage of [unresolved, unlaunched])
      stage.answer('closeConnection', { at: 0, evidence: {} });
    expect(unresolved.ends).toMatchObject([{ failure: failure('notStarted') }]);
    expect(unlaunched.ends).toMatchObject([{ failure: failure('unavailable') }]);
    expect([...unresolved.facts, ...unlaunched.facts]).toEqual([]);
  });
});

describe('an open session', () => {
  it('is closed when the server floods it for ten seconds', async () => {
    const stage = open();
    stage.report({ type: 'wire.impaired', reason: 'flooding', failure: failure('protocol') });
    stage.report({ type: 'wire.paused' });
    stage.clock.advanceBy(9_999);
    stage.report({ type: 'wire.resumed' });
    stage.report({ type: 'wire.recovered', reason: 'flooding' });
    stage.chapter('the next pause does not end');
    stage.report({ type: 'wire.paused' });
    stage.clock.advanceBy(10_000);
    stage.answer('closeConnection', { at: 1, evidence: {} });
    expect(stage.ends).toMatchObject([{ isFlood: true, wasOpen: true }]);
    await expectStory(stage, 'session/flood');
  });

  it('waits for the process to exit after its connection breaks', async () => {
    const stage = open();
    stage.report({ type: 'wire.broke' });
    stage.clock.advanceBy(200);
    stage.report(ended('crashed'));
    stage.answer('closeConnection', { at: 201, evidence: { exitCode: 1 } });
    await expectStory(stage, 'session/break-off');
  });

  it('waits no longer for an exit than for a graceful close', async () => {
    const stage = open();
    stage.report({ type: 'wire.broke' });
    stage.clock.advanceBy(3_000);
    stage.clock.advanceBy(500);
    expect(stage.ends).toMatchObject([{ failure: { kind: 'transport' } }]);
    await expectStory(stage, 'session/break-off-without-exit');
  });

  it('drains in-flight requests when the server has forgotten the session', async () => {
    const stage = open(http);
    stage.report(ended('sessionMissing', { type: 'wire.lost', drains: true }));
    stage.answer('closeConnection', { at: 1, evidence: {} });
    await expectStory(stage, 'session/forgotten');
  });

  it('reports that it is closing while a lost process is still running', () => {
    const stage = open();
    stage.report(ended('transport', { type: 'wire.lost', isGone: false }));
    expect(stage.facts.at(-1)).toEqual({ type: 'session.closing' });
    expect(stage.snapshot().value).toBe('releasing');
  });

  it('is abandoned when the server chart requests it', async () => {
    const stage = open({ policy: pinged });
    stage.clock.advanceBy(30_000);
    stage.report({ type: 'wire.probed', answer: 'none', failure: failure('transport') });
    stage.clock.advanceBy(30_000);
    stage.chapter('no answer at all');
    stage.clock.advanceBy(10_000);
    stage.command({ type: 'session.giveUp', failure: failure('transport') });
    stage.answer('closeConnection', { at: 1, evidence: {} });
    await expectStory(stage, 'session/given-up');
  });

  it('recovers when a health check gets a late response', async () => {
    const stage = open({ policy: pinged });
    while (stage.facts.at(-1)?.type !== 'session.silent') stage.clock.runNext();
    stage.clock.advanceBy(1_000);
    stage.report({ type: 'wire.probed', answer: 'alive' });
    stage.chapter('the next check is answered in time');
    while (stage.requests.filter((name) => name === 'wire.probe').length < 2) stage.clock.runNext();
    stage.report({ type: 'wire.probed', answer: 'unknownMethod' });
    await expectStory(stage, 'session/answered-late');
  });

  it('checks the server at short intervals after a wake-up, until the network is back', async () => {
    const stage = open();
    stage.command({ type: 'server.woke', spreadMs: 2_000 });
    for (let check = 1; check <= 2; check += 1) {
      while (stage.requests.filter((name) => name === 'wire.probe').length < check)
        stage.clock.runNext();
      stage.clock.advanceBy(5_000);
    }
    stage.chapter('the network is back');
    stage.clock.advanceBy(2_000);
    stage.report({ type: 'wire.probed', answer: 'alive' });
    stage.clock.advanceBy(600_000);
    await expectStory(stage, 'session/wake-before-network');
  });

  it("counts failed checks up to the policy's limit", () => {
    const stage = open({ policy: pinged });
    for (let check = 1; check <= 4; check += 1) {
      stage.clock.advanceBy(stage.snapshot().context.policy.health.everyMs);
      stage.report({ type: 'wire.probed', answer: 'none' });
    }
    const counts = stage.facts.flatMap((fact) =>
      fact.type === 'session.silent' ? [fact.failedChecks] : [],
    );
    expect(counts).toEqual([1, 2, 2, 2]);
  });

  it('treats an unknown method as a sign of life only if the policy says so', () => {
    const stage = open({
      policy: { health: { mode: 'ping', treatMethodNotFoundAsAlive: false } },
    });
    while (!stage.requests.includes('wire.probe')) stage.clock.runNext();
    stage.report({ type: 'wire.probed', answer: 'unknownMethod' });
    expect(stage.facts.at(-1)).toMatchObject({ type: 'session.silent' });
  });

  it('OMP-40: treats an unknown method as a sign of life under default', () => {
    const { health } = presets.default;
    const stage = open({ policy: { health: { ...health, mode: 'ping' } } });
    while (!stage.requests.includes('wire.probe')) stage.clock.runNext();
    stage.report({ type: 'wire.probed', answer: 'unknownMethod' });
    expect(stage.facts.filter(({ type }) => type === 'session.silent')).toEqual([]);
  });

  it('OMP-90: does not check a quiet server under ohMyPi', () => {
    const stage = open({ policy: { health: presets.ohMyPi.health } });
    stage.clock.advanceBy(3_600_000);
    expect(stage.requests).not.toContain('wire.probe');
  });

  it('starts and stops health checks when the policy is edited', () => {
    const stage = open();
    const checked = (): number => stage.requests.filter((name) => name === 'wire.probe').length;
    const quiet = stage.snapshot().context.policy;
    const watched = { ...quiet, health: { ...quiet.health, mode: 'ping' as const } };
    stage.clock.advanceBy(600_000);
    expect(checked()).toBe(0);
    stage.command({ type: 'policy.updated', policy: watched });
    stage.clock.advanceBy(quiet.health.everyMs);
    expect(checked()).toBe(1);
    stage.report({ type: 'wire.probed', answer: 'alive' });
    stage.command({ type: 'policy.updated', policy: quiet });
    stage.clock.advanceBy(600_000);
    expect(checked()).toBe(1);
  });

  it('stops health checks when they are disabled during one', () => {
    const stage = open({ policy: pinged });
    stage.clock.advanceBy(30_000);
    const { policy } = stage.snapshot().context;
    stage.command({
      type: 'policy.updated',
      policy: { ...policy, health: { ...policy.health, mode: 'off' } },
    });
    stage.clock.advanceBy(600_000);
    expect(stage.requests.filter((name) => name === 'wire.probe')).toHaveLength(1);
  });

  it("applies an edited policy's deadline to the next list of a refresh", () => {
    const stage = open();
    stage.report({ type: 'tools.changed' });
    stage.clock.advanceBy(5_000);
    const { policy } = stage.snapshot().context;
    const connect = { ...policy.connect, listTimeoutMs: 60_000 };
    stage.command({ type: 'policy.updated', policy: { ...policy, connect } });
    stage.clock.advanceBy(30_000);
    stage.clock.advanceBy(59_999);
    expect(stage.running).toContain('tools/listItems');
    stage.clock.advanceBy(1);
    expect(stage.running).not.toContain('tools/listItems');
  });

  it('batches updates of watched resources', async () => {
    const stage = open();
    stage.report({ type: 'resource.updated' });
    stage.clock.advanceBy(99);
    stage.report({ type: 'resource.updated' });
    stage.report({ type: 'resource.updated' });
    stage.clock.advanceBy(1);
    stage.chapter('quiet for a moment');
    stage.clock.advanceBy(100);
    stage.report({ type: 'resource.updated' });
    // Once for what changed while it opened.
    expect(stage.requests.filter((name) => name === 'wire.publish')).toHaveLength(4);
    await expectStory(stage, 'session/watched-resources');
  });
});

describe('a closing session', () => {
  it('closes gracefully, and by force after the deadline', async () => {
    const stage = open();
    stage.command({ type: 'session.close' });
    stage.clock.advanceBy(2_999);
    stage.chapter('asking again does not prolong the deadline');
    stage.command({ type: 'session.close' });
    stage.clock.advanceBy(1);
    stage.answer('closeConnection', { at: 3_010, evidence: {} });
    expect(stage.ends).toEqual([
      { at: 3_010, wasOpen: true, failure: null, isFlood: false, evidence: {} },
    ]);
    await expectStory(stage, 'session/close-by-force');
  });

  it('ends half a second after the forced close even if its process is still running', async () => {
    const stage = open();
    stage.report(ended('transport', { isGone: false }));
    stage.clock.advanceBy(3_000);
    expect(stage.requests.at(-1)).toBe('wire.kill');
    stage.report({ type: 'wire.killed', at: 3_000 });
    stage.clock.advanceBy(499);
    expect(stage.ends).toEqual([]);
    stage.clock.advanceBy(1);
    expect(stage.ends).toMatchObject([{ failure: failure('transport'), at: 3_000 }]);
    await expectStory(stage, 'session/abandoned');
  });

  it('drains no longer than the close deadline', () => {
    const stage = open(http);
    stage.report(ended('sessionMissing', { drains: true }));
    stage.clock.advanceBy(3_500);
    expect(stage.ends).toMatchObject([{ failure: failure('sessionMissing') }]);
  });

  it("applies the policy's deadline as of the moment it starts to close", () => {
    const stage = open();
    const { policy } = stage.snapshot().context;
    const close = { ...policy.close, totalMs: 1_000 };
    stage.command({ type: 'policy.updated', policy: { ...policy, close } });
    stage.command({ type: 'session.close' });
    stage.command({ type: 'policy.updated', policy });
    stage.clock.advanceBy(1_500);
    expect(stage.ends).toHaveLength(1);
  });
});

describe('a leaf actor that throws', () => {
  const fault = { kind: 'unknown', message: 'The session broke; please report it.' };

  it.each(['resolveTarget', 'launchProcess', 'connectClient', 'firstList'] as const)(
    'closes the session: %s',
    (leaf) => {
      const stage = connectUpTo(leaf);
      stage.break(leaf);
      expect(stage.facts.at(-1)).toEqual({ type: 'session.closing' });
      stage.answer('closeConnection', { at: 0, evidence: {} });
      expect(stage.ends).toMatchObject([{ failure: fault }]);
    },
  );

  it('closes an open session', async () => {
    const stage = open();
    stage.break('wire');
    stage.answer('closeConnection', { at: 0, evidence: {} });
    expect(stage.ends).toMatchObject([{ failure: fault, wasOpen: true }]);
    await expectStory(stage, 'session/wire-throws');
  });

  it('ends a closing session', () => {
    const stage = open();
    stage.command({ type: 'session.close' });
    stage.break('closeConnection');
    expect(stage.ends).toMatchObject([{ failure: fault }]);
  });

  it('ends a draining session', () => {
    const stage = open(http);
    stage.report(ended('sessionMissing', { drains: true }));
    stage.break('closeConnection');
    expect(stage.ends).toMatchObject([{ failure: fault }]);
  });

  it("does not restart a closing session's deadline", () => {
    const stage = open();
    stage.command({ type: 'session.close' });
    stage.clock.advanceBy(3_000);
    stage.break('wire');
    stage.clock.advanceBy(500);
    expect(stage.ends).toHaveLength(1);
  });

  it('closes a session whose connection broke', () => {
    const stage = open();
    stage.report({ type: 'wire.broke' });
    stage.break('wire');
    expect(stage.snapshot().value).toBe('closing');
    expect(stage.facts.filter(({ type }) => type === 'session.closing')).toHaveLength(1);
  });
});

/** A local server until the given leaf actor is asked. */
function connectUpTo(
  leaf: 'resolveTarget' | 'launchProcess' | 'connectClient' | 'firstList',
): SessionStage {
  const stage = stageSession();
  if (leaf === 'resolveTarget') return stage;
  stage.answer('resolveTarget', resolved());
  if (leaf === 'launchProcess') return stage;
  stage.answer('launchProcess', launched);
  if (leaf === 'connectClient') return stage;
  stage.answer('connectClient', connected());
  return stage;
}
