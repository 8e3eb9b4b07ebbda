/**
 * Decides when something that is kept for its user is given up: a call that waits for its client, a
 * session between two requests, a result that has not been collected.
 *
 * A use is not an event, because uses are frequent and payloads never pass through a chart. Whenever
 * the time may be up, the chart asks how the thing has been used meanwhile, and keeps it for the
 * time that is left. While it is in use, nothing is asked until a use ends.
 *
 * ```text
 * [*] -> kept
 * kept -- kept.released --> released
 * kept: [*] -> asking
 *   asking -- use.seen [isInUse] --> inUse
 *   asking -- use.seen [isOverdue] --> expired
 *   asking -- use.seen --> unused
 *   inUse -- use.changed --> asking
 *   unused -- use.changed | after timeLeft --> asking
 * released -> [*]
 * expired -> [*]
 * ```
 */

import { assign, emit, setup } from 'xstate';
import { longestTimerMs } from '../src/domain/clock.ts';

/** How something kept is used at present. */
export interface PresentUse {
  readonly isInUse: boolean;
  /** Time since the last use ended, in milliseconds. */
  readonly unusedMs: number;
  /** For how long it is kept without a use, in milliseconds. */
  readonly keptMs: number;
}

export interface RetentionContext {
  /** For how long it was still kept when last asked, in milliseconds. */
  readonly leftMs: number;
}

export type RetentionEvent =
  /** A use ended, or it is kept for a different time from now on. */
  | { readonly type: 'use.changed' }
  /** The reply to `use.asked`. */
  | ({ readonly type: 'use.seen' } & PresentUse)
  /** Its user took it, or it ended. */
  | { readonly type: 'kept.released' };

const retentionSetup = setup({
  types: {
    context: {} as RetentionContext,
    events: {} as RetentionEvent,
    emitted: {} as { readonly type: 'use.asked' },
  },
  actions: {
    /** Asks how it is used at present. */
    askForUse: emit({ type: 'use.asked' }),
    /** Notes for how long it is still kept. */
    noteTimeLeft: assign((_, { unusedMs, keptMs }: PresentUse) => ({ leftMs: keptMs - unusedMs })),
  },
  guards: {
    /** Whether it is in use. */
    isInUse: (_, { isInUse }: PresentUse) => isInUse,
    /** Whether it was unused for as long as it is kept. */
    isOverdue: (_, { unusedMs, keptMs }: PresentUse) => unusedMs >= keptMs,
  },
  delays: {
    /** For how long it is still kept. */
    timeLeft: ({ context }) => Math.min(context.leftMs, longestTimerMs),
  },
});

const params = ({ event }: { readonly event: PresentUse }): PresentUse => event;

/** How long something unused is kept. */
export const retentionMachine = retentionSetup.createMachine({
  // A transition loop is a bug: a broken actor is better than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'retention',
  context: { leftMs: 0 },
  initial: 'kept',
  states: {
    kept: {
      initial: 'asking',
      on: { 'kept.released': 'released' },
      states: {
        // Answered at once.
        asking: {
          entry: 'askForUse',
          on: {
            'use.seen': [
              { guard: { type: 'isInUse', params }, target: 'inUse' },
              { guard: { type: 'isOverdue', params }, target: '#retention.expired' },
              { actions: { type: 'noteTimeLeft', params }, target: 'unused' },
            ],
          },
        },
        inUse: { on: { 'use.changed': 'asking' } },
        unused: { on: { 'use.changed': 'asking' }, after: { timeLeft: 'asking' } },
      },
    },
    released: { type: 'final' },
    expired: { type: 'final' },
  },
});
