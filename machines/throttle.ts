/**
 * Decides when signals are passed on: the first one at once, then at most one per pause. The last
 * signal is never lost.
 *
 * The pause doubles while signals continue, up to a maximum, and is short again after a pause
 * without any.
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

import { assign, emit, setup, stateIn } from 'xstate';

export interface ThrottleInput {
  readonly pauseMs: number;
  /** The longest pause during a stream of signals. */
  readonly maxPauseMs: number;
}

export interface ThrottleContext extends ThrottleInput {
  /** Invariant: pauseMs <= presentMs <= maxPauseMs. */
  readonly presentMs: number;
}

export interface ThrottleEvent {
  readonly type: 'signal.raised';
}

const throttleSetup = setup({
  types: {
    input: {} as ThrottleInput,
    context: {} as ThrottleContext,
    events: {} as ThrottleEvent,
    emitted: {} as { readonly type: 'signal.passed' },
  },
  actions: {
    /** Passes one signal on. */
    passOn: emit({ type: 'signal.passed' }),
    /** Doubles the next pause, up to the longest, because signals continue. */
    lengthenPause: assign({
      presentMs: ({ context: { presentMs, maxPauseMs } }) => Math.min(presentMs * 2, maxPauseMs),
    }),
    /** Makes the next pause short again, because there was one without a signal. */
    shortenPause: assign({ presentMs: ({ context }) => context.pauseMs }),
  },
  guards: {
    /** Whether more signals arrived during the pause. */
    isDue: stateIn({ pausing: 'due' }),
  },
  delays: {
    /** How long no signal is passed on. */
    pause: ({ context }) => context.presentMs,
  },
});

export const throttleMachine = throttleSetup.createMachine({
  // A transition loop is a bug: a broken actor is better than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'throttle',
  context: ({ input }) => ({ ...input, presentMs: input.pauseMs }),
  initial: 'idle',
  states: {
    idle: { on: { 'signal.raised': 'pausing' } },
    pausing: {
      entry: 'passOn',
      initial: 'quiet',
      after: {
        pause: [
          { guard: 'isDue', actions: 'lengthenPause', target: 'pausing', reenter: true },
          { actions: 'shortenPause', target: 'idle' },
        ],
      },
      states: { quiet: { on: { 'signal.raised': 'due' } }, due: {} },
    },
  },
});
