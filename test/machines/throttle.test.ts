/** The throttle: what each state does with each event, and all its ways. */

import { describe, expect, it } from 'vitest';
import type { SnapshotFrom, StateValueFrom } from 'xstate';
import { type ThrottleEvent, throttleMachine } from '../../machines/throttle.ts';
import { explore } from '../../src/testing/explore.ts';
import { type PathIn, repliesAfter } from './asking.ts';
import { problemsOf, reportOf, runOnce } from './exploration-report.ts';
import { comparing } from './xstate/comparing.ts';

type Snapshot = SnapshotFrom<typeof throttleMachine>;
type State = Exclude<PathIn<StateValueFrom<typeof throttleMachine>>, 'pausing'>;

const input = { pauseMs: 1_000 };
const signal = { type: 'signal.raised' } as const;
const examples = { signal, end: { type: 'xstate.after.pause.throttle.pausing' } } as const;
const replies: Readonly<Record<State, Readonly<Record<keyof typeof examples, string>>>> = {
  idle: { signal: 'pausing.quiet', end: 'ignored' },
  'pausing.quiet': { signal: 'pausing.due', end: 'idle' },
  // Further signals are passed on with the one that is due.
  'pausing.due': { signal: 'ignored', end: 'pausing.quiet' },
};
const ways: Readonly<Record<State, readonly ThrottleEvent[]>> = {
  idle: [],
  'pausing.quiet': [signal],
  'pausing.due': [signal, signal],
};

const searches = {
  'a stream of signals': () =>
    explore(comparing(throttleMachine), {
      inputs: [input],
      stepInvariants: ({ before, after, effects }) => {
        const isPassed = JSON.stringify(effects).includes('signal.passed');
        return [
          ...(isPassed && !after.matches({ pausing: 'quiet' }) ? ['no pause follows'] : []),
          ...(before.matches({ pausing: 'due' }) && !after.matches('pausing')
            ? ['the last signal is lost']
            : []),
        ];
      },
      goals: { rest: (snapshot: Snapshot) => snapshot.matches('idle') },
    }),
};
const found = runOnce(searches);

describe('the throttle chart', () => {
  it.each(Object.keys(replies) as State[])('handles every event in %s', (state) => {
    expect(repliesAfter(throttleMachine, input, ways[state], examples)).toEqual({
      state,
      replies: replies[state],
    });
  });

  it('keeps its invariants and takes every transition', async () => {
    const { uncovered, unvisited } = found('a stream of signals');
    expect([problemsOf(found('a stream of signals')), uncovered, unvisited]).toEqual(['', [], []]);
    await expect(reportOf(searches, found)).toMatchFileSnapshot('explored/throttle.txt');
  });
});
