/** A client's lease of a process: what each state does with each event, its times, and all its ways. */

import { describe, expect, it } from 'vitest';
import { createActor, type SnapshotFrom, type StateValueFrom } from 'xstate';
import { type LeaseEvent, leaseMachine } from '../../machines/lease.ts';
import { longestTimerMs } from '../../src/domain/clock.ts';
import { explore } from '../../src/testing/explore.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { repliesAfter } from './asking.ts';
import { problemsOf, reportOf, runOnce } from './exploration-report.ts';
import { comparing } from './xstate/comparing.ts';

type Snapshot = SnapshotFrom<typeof leaseMachine>;
type State = StateValueFrom<typeof leaseMachine>;

const released = (isKept: boolean, drainMs = 30_000, unusedMs = 0) =>
  ({ type: 'lease.released', isKept, drainMs, unusedMs, maxIdleMs: 300_000 }) as const;
const examples = {
  opened: { type: 'connection.opened' },
  lost: { type: 'connection.lost' },
  'released beside another client': released(true),
  'released as the last': released(false),
  'released without a time to wait': released(false, 0),
  'released after a long idle time': released(false, 30_000, 300_000),
  replaced: { type: 'process.replaced' },
  'calls ended': { type: 'calls.ended' },
  acquired: { type: 'lease.acquired' },
  revoked: { type: 'lease.revoked' },
} as const satisfies Readonly<Record<string, LeaseEvent>>;

const notReleasable = {
  'released beside another client': 'ignored',
  'released as the last': 'ignored',
  'released without a time to wait': 'ignored',
  'released after a long idle time': 'ignored',
};
const replies: Readonly<Record<State, Readonly<Record<keyof typeof examples, string>>>> = {
  acquiring: {
    opened: 'held',
    lost: 'released',
    'released beside another client': 'released',
    // A process that never opened is of no use to the next client.
    'released as the last': 'released',
    'released without a time to wait': 'released',
    'released after a long idle time': 'released',
    replaced: 'ignored',
    'calls ended': 'ignored',
    acquired: 'ignored',
    revoked: 'ignored',
  },
  held: {
    opened: 'ignored',
    lost: 'released',
    'released beside another client': 'released',
    'released as the last': 'draining',
    'released without a time to wait': 'released',
    'released after a long idle time': 'released',
    replaced: 'moving',
    'calls ended': 'ignored',
    acquired: 'ignored',
    revoked: 'ignored',
  },
  moving: {
    opened: 'ignored',
    lost: 'released',
    'released beside another client': 'released',
    'released as the last': 'draining',
    'released without a time to wait': 'released',
    'released after a long idle time': 'released',
    replaced: 'ignored',
    'calls ended': 'held',
    acquired: 'ignored',
    revoked: 'ignored',
  },
  draining: {
    opened: 'ignored',
    lost: 'released',
    ...notReleasable,
    replaced: 'ignored',
    'calls ended': 'ignored',
    acquired: 'released',
    revoked: 'released',
  },
  released: {
    opened: 'ignored',
    // The transition of the whole chart; an actor that has ended hears nothing.
    lost: 'stays',
    ...notReleasable,
    replaced: 'ignored',
    'calls ended': 'ignored',
    acquired: 'ignored',
    revoked: 'ignored',
  },
};
const ways: Readonly<Record<State, readonly LeaseEvent[]>> = {
  acquiring: [],
  held: [examples.opened],
  moving: [examples.opened, examples.replaced],
  draining: [examples.opened, examples['released as the last']],
  released: [examples.lost],
};

const searches = {
  'one lease': () =>
    explore(comparing(leaseMachine), {
      inputs: [undefined],
      events: {
        'lease.released': [
          examples['released beside another client'],
          examples['released as the last'],
          examples['released without a time to wait'],
          examples['released after a long idle time'],
        ],
      },
      stepInvariants: ({ event, before, after }) =>
        before.matches('draining') && after.matches('released') && event.type === 'lease.released'
          ? ['a lease is released twice']
          : [],
      goals: { 'an end': ({ status }: Snapshot) => status === 'done' },
    }),
};
const found = runOnce(searches);

describe('the lease chart', () => {
  it.each(Object.keys(replies) as State[])('handles every event in %s', (state) => {
    expect(repliesAfter(leaseMachine, undefined, ways[state], examples)).toEqual({
      state,
      replies: replies[state],
    });
  });

  it('keeps its invariants and takes every transition', async () => {
    const { uncovered, unvisited } = found('one lease');
    expect([problemsOf(found('one lease')), uncovered, unvisited]).toEqual(['', [], []]);
    await expect(reportOf(searches, found)).toMatchFileSnapshot('explored/lease.txt');
  });
});

describe('a lease', () => {
  function leased() {
    const clock = new VirtualClock();
    const gaveUpAt: number[] = [];
    const actor = createActor(leaseMachine, { clock: clock as never });
    actor.on('connection.released', () => gaveUpAt.push(clock.now()));
    actor.start();
    return { clock, actor, gaveUpAt };
  }

  it('keeps the process for the drain time after the last client has released it', () => {
    const { clock, actor, gaveUpAt } = leased();
    actor.send(examples.opened);
    actor.send(examples['released as the last']);
    clock.advanceBy(29_999);
    expect(gaveUpAt).toEqual([]);
    clock.advanceBy(1);
    expect(gaveUpAt).toEqual([30_000]);
    expect(clock.pendingCount).toBe(0);
  });

  it('keeps it no longer than the idle time allows, however often clients come and go', () => {
    const { clock, actor, gaveUpAt } = leased();
    actor.send(examples.opened);
    actor.send(released(false, 30_000, 290_000));
    clock.advanceBy(10_000);
    expect(gaveUpAt).toEqual([10_000]);
  });

  it.each([
    ['once its calls have ended', [1_000, 'calls.ended'], 1_000],
    ['after a minute at the latest', [60_000, 'lease.acquired'], 60_000],
  ] as const)(
    'moves its client to a process that replaced its own, %s',
    (_, [ms, type], movedAt) => {
      const { clock, actor, gaveUpAt } = leased();
      const moves: number[] = [];
      actor.on('client.moves', () => moves.push(clock.now()));
      actor.send(examples.opened);
      actor.send(examples.replaced);
      clock.advanceBy(ms);
      actor.send({ type });
      expect([moves, gaveUpAt, actor.getSnapshot().value]).toEqual([[movedAt], [], 'held']);
      expect(clock.pendingCount).toBe(0);
    },
  );

  it.each([
    ['another client has it', examples['released beside another client'], []],
    ['there is no time to wait', examples['released without a time to wait'], [0]],
    ['it was idle for too long', examples['released after a long idle time'], [0]],
  ] as const)('gives up the process or not, if %s', (_, event, expected) => {
    const { clock, actor, gaveUpAt } = leased();
    actor.send(examples.opened);
    actor.send(event);
    clock.advanceBy(longestTimerMs);
    expect(gaveUpAt).toEqual(expected);
  });

  it.each([
    ['is acquired by another client', examples.acquired, []],
    ['is lost', examples.lost, []],
    ['is revoked', examples.revoked, [1_000]],
  ] as const)('stops waiting when the process %s', (_, event, expected) => {
    const { clock, actor, gaveUpAt } = leased();
    actor.send(examples.opened);
    actor.send(examples['released as the last']);
    clock.advanceBy(1_000);
    actor.send(event);
    clock.advanceBy(60_000);
    expect(gaveUpAt).toEqual(expected);
    expect(clock.pendingCount).toBe(0);
  });
});
