/**
 * Decides when signals are passed on: the first one at once, then at most one per pause. The last
 * signal is never lost.
 *
 * ```text
 * [*] -> idle
 * idle -- signal.raised --> pausing
 * pausing -- after pause [isDue] --> pausing
 * pausing -- after pause --> idle
 * pausing: [*] -> quiet
 *   quiet -- signal.raised --> due
 *   due
 * ```
 */

import { emit, setup, stateIn } from 'xstate';

export interface ThrottleInput {
  readonly pauseMs: number;
}

export interface ThrottleEvent {
  readonly type: 'signal.raised';
}

const throttleSetup = setup({
  types: {
    input: {} as ThrottleInput,
    context: {} as ThrottleInput,
    events: {} as ThrottleEvent,
    emitted: {} as { readonly type: 'signal.passed' },
  },
  actions: {
    /** Passes one signal on. */
    passOn: emit({ type: 'signal.passed' }),
  },
  guards: {
    /** Whether more signals arrived during the pause. */
    isDue: stateIn({ pausing: 'due' }),
  },
  delays: {
    /** How long no signal is passed on. */
    pause: ({ context }) => context.pauseMs,
  },
});

/** Passes signals on, at most one in each interval. */
export const throttleMachine = throttleSetup.createMachine({
  // A transition loop is a bug: a broken actor is better than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'throttle',
  context: ({ input }) => input,
  initial: 'idle',
  states: {
    idle: { on: { 'signal.raised': 'pausing' } },
    pausing: {
      entry: 'passOn',
      initial: 'quiet',
      after: {
        pause: [{ guard: 'isDue', target: 'pausing', reenter: true }, { target: 'idle' }],
      },
      states: { quiet: { on: { 'signal.raised': 'due' } }, due: {} },
    },
  },
});
