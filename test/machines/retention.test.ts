/** What is kept for its user: what each state does with each event, its times, and all its ways. */

import { describe, expect, it } from 'vitest';
import type { SnapshotFrom, StateValueFrom } from 'xstate';
import {
  type PresentUse,
  type RetentionEvent,
  retentionMachine,
} from '../../machines/retention.ts';
import { longestTimerMs } from '../../src/domain/clock.ts';
import { retain } from '../../src/runtime/retention.ts';
import { explore } from '../../src/testing/explore.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { type PathIn, repliesAfter } from './asking.ts';
import { problemsOf, reportOf, runOnce } from './exploration-report.ts';
import { comparing } from './xstate/comparing.ts';

type Snapshot = SnapshotFrom<typeof retentionMachine>;
type State = Exclude<PathIn<StateValueFrom<typeof retentionMachine>>, 'kept'>;

const seen = (isInUse: boolean, unusedMs: number, keptMs = 1_000) =>
  ({ type: 'use.seen', isInUse, unusedMs, keptMs }) as const;
const examples = {
  changed: { type: 'use.changed' },
  'seen in use': seen(true, 5_000),
  'seen unused': seen(false, 999),
  'seen unused for too long': seen(false, 1_000),
  released: { type: 'kept.released' },
} as const satisfies Readonly<Record<string, RetentionEvent>>;

const unasked = {
  'seen in use': 'ignored',
  'seen unused': 'ignored',
  'seen unused for too long': 'ignored',
};
const over = { changed: 'ignored', ...unasked, released: 'ignored' };
const replies: Readonly<Record<State, Readonly<Record<keyof typeof examples, string>>>> = {
  'kept.asking': {
    // The reply will include the change.
    changed: 'ignored',
    'seen in use': 'kept.inUse',
    'seen unused': 'kept.unused',
    'seen unused for too long': 'expired',
    released: 'released',
  },
  'kept.inUse': { changed: 'kept.asking', ...unasked, released: 'released' },
  'kept.unused': { changed: 'kept.asking', ...unasked, released: 'released' },
  released: over,
  expired: over,
};
const ways: Readonly<Record<State, readonly RetentionEvent[]>> = {
  'kept.asking': [],
  'kept.inUse': [examples['seen in use']],
  'kept.unused': [examples['seen unused']],
  released: [examples.released],
  expired: [examples['seen unused for too long']],
};

const searches = {
  'one thing that is kept': () =>
    explore(comparing(retentionMachine), {
      inputs: [undefined],
      events: {
        'use.seen': [
          examples['seen in use'],
          examples['seen unused'],
          examples['seen unused for too long'],
        ],
      },
      stepInvariants: ({ event, after }) =>
        after.matches('expired') &&
        !('isInUse' in event && !event.isInUse && event.unusedMs >= event.keptMs)
          ? ['it is given up too soon']
          : [],
      goals: { 'an end': ({ status }: Snapshot) => status === 'done' },
    }),
};
const found = runOnce(searches);

describe('the retention chart', () => {
  it.each(Object.keys(replies) as State[])('handles every event in %s', (state) => {
    expect(repliesAfter(retentionMachine, undefined, ways[state], examples)).toEqual({
      state,
      replies: replies[state],
    });
  });

  it('keeps its invariants and takes every transition', async () => {
    const { uncovered, unvisited } = found('one thing that is kept');
    const problems = problemsOf(found('one thing that is kept'));
    expect([problems, uncovered, unvisited]).toEqual(['', [], []]);
    await expect(reportOf(searches, found)).toMatchFileSnapshot('explored/retention.txt');
  });
});

describe('something kept', () => {
  function kept(keptMs: number) {
    const clock = new VirtualClock();
    const state = { isInUse: false, usedAt: 0, asked: [] as number[], expiredAt: [] as number[] };
    const use = (): PresentUse => {
      state.asked.push(clock.now());
      return { isInUse: state.isInUse, unusedMs: clock.now() - state.usedAt, keptMs };
    };
    const retention = retain(clock, use, () => state.expiredAt.push(clock.now()));
    return { clock, state, retention };
  }

  it('is given up its whole time after the last use, which is seen only when asked', () => {
    const { clock, state } = kept(1_000);
    clock.advanceBy(900);
    state.usedAt = 900;
    clock.advanceBy(10_000);
    expect(state).toMatchObject({ asked: [0, 1_000, 1_900], expiredAt: [1_900] });
    expect(clock.pendingCount).toBe(0);
  });

  it('waits without a timer while it is in use', () => {
    const { clock, state, retention } = kept(1_000);
    state.isInUse = true;
    clock.advanceBy(1_000);
    expect([retention.isInUse, clock.pendingCount]).toEqual([true, 0]);
    clock.advanceBy(9_000);
    Object.assign(state, { isInUse: false, usedAt: clock.now() });
    retention.useChanged();
    clock.advanceBy(1_000);
    expect(state.expiredAt).toEqual([11_000]);
  });

  it('is not given up once it is released', () => {
    const { clock, state, retention } = kept(1_000);
    retention.release();
    retention.useChanged();
    clock.advanceBy(10_000);
    expect([state.expiredAt, clock.pendingCount]).toEqual([[], 0]);
  });

  it('may be kept for longer than a timer can wait', () => {
    const { clock, state } = kept(longestTimerMs + 1);
    clock.advanceBy(longestTimerMs);
    expect([state.expiredAt, state.asked]).toEqual([[], [0, longestTimerMs]]);
    clock.advanceBy(1);
    expect(state.expiredAt).toEqual([longestTimerMs + 1]);
  });
});
