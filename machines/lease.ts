/**
 * Follows one client's use of one server's process, which other clients may use as well, and decides
 * when the process is given up.
 *
 * The last client to release a process keeps it for a while, in case it is needed again. The time is
 * shorter if the process has not had a call for long, so that clients which only come and go do not
 * keep it forever. A process that never opened is given up at once.
 *
 * When another client has replaced the process, this one moves to the new one: as soon as none of its
 * requests is in flight, and at the latest after a minute.
 *
 * ```text
 * [*] -> acquiring
 * lease -- connection.lost --> released
 * acquiring -- connection.opened --> held
 * acquiring -- lease.released [isKept] --> released
 * acquiring -- lease.released --> released
 * held -- lease.released [isKept] --> released
 * held -- lease.released [drains] --> draining
 * held -- lease.released --> released
 * held -- process.replaced --> moving
 * moving -- lease.released [isKept] --> released
 * moving -- lease.released [drains] --> draining
 * moving -- lease.released --> released
 * moving -- calls.ended | after longestMove --> held
 * draining -- lease.acquired | lease.revoked | after drain --> released
 * released -> [*]
 * ```
 */

import { assign, emit, setup } from 'xstate';
import { longestTimerMs } from '../src/domain/clock.ts';

// As long as a call may take by default.
const longestMoveMs = 60_000;

export interface LeaseContext {
  /** For how long the process is kept after the release, in milliseconds. */
  readonly drainMs: number;
}

/** What is known of a process when a client releases it. */
export interface Released {
  /** Whether another client has it. */
  readonly isKept: boolean;
  /** For how long it may be kept, in milliseconds; 0 for a process that is of no further use. */
  readonly drainMs: number;
  /** Time since its last call, in milliseconds. */
  readonly unusedMs: number;
  /** For how long it may be kept without a call, in milliseconds. */
  readonly maxIdleMs: number;
}

export type LeaseEvent =
  /** The server answered a request. */
  | { readonly type: 'connection.opened' }
  /** The process ended. */
  | { readonly type: 'connection.lost' }
  /** Another client has started a new process in its place. */
  | { readonly type: 'process.replaced' }
  /** None of the client's requests is in flight any more. */
  | { readonly type: 'calls.ended' }
  /** The client needs it no longer. */
  | ({ readonly type: 'lease.released' } & Released)
  /** A client has acquired the process that is kept. */
  | { readonly type: 'lease.acquired' }
  /** The process is not to be kept any longer. */
  | { readonly type: 'lease.revoked' };

const leaseSetup = setup({
  types: {
    context: {} as LeaseContext,
    events: {} as LeaseEvent,
    emitted: {} as { readonly type: 'connection.released' | 'client.moves' },
  },
  actions: {
    /** Has the process ended. */
    giveUp: emit({ type: 'connection.released' }),
    /** Has the client start its server again. */
    move: emit({ type: 'client.moves' }),
    /** Notes for how long the process is kept. */
    noteDrain: assign((_, released: Released) => ({ drainMs: drainOf(released) })),
  },
  guards: {
    /** Whether another client has the process. */
    isKept: (_, { isKept }: Released) => isKept,
    /** Whether the process is kept for a while. */
    drains: (_, released: Released) => drainOf(released) > 0,
  },
  delays: {
    /** For how long a client may go on using a process that was replaced. */
    longestMove: longestMoveMs,
    /** For how long the process is kept. */
    drain: ({ context }) => Math.min(context.drainMs, longestTimerMs),
  },
});

function drainOf({ drainMs, unusedMs, maxIdleMs }: Released): number {
  return Math.min(drainMs, maxIdleMs - unusedMs);
}

const params = ({ event }: { readonly event: Released }): Released => event;

const releases = {
  'lease.released': [
    { guard: { type: 'isKept', params }, target: 'released' },
    {
      guard: { type: 'drains', params },
      actions: { type: 'noteDrain', params },
      target: 'draining',
    },
    { actions: 'giveUp', target: 'released' },
  ],
} as const;

/** A client's share of a server's process. */
export const leaseMachine = leaseSetup.createMachine({
  // A transition loop is a bug: a broken actor is better than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'lease',
  context: { drainMs: 0 },
  initial: 'acquiring',
  on: { 'connection.lost': '.released' },
  states: {
    acquiring: {
      on: {
        'connection.opened': 'held',
        'lease.released': [
          { guard: { type: 'isKept', params }, target: 'released' },
          { actions: 'giveUp', target: 'released' },
        ],
      },
    },
    held: { on: { ...releases, 'process.replaced': 'moving' } },
    moving: {
      on: { ...releases, 'calls.ended': { actions: 'move', target: 'held' } },
      after: { longestMove: { actions: 'move', target: 'held' } },
    },
    draining: {
      on: {
        'lease.acquired': 'released',
        'lease.revoked': { actions: 'giveUp', target: 'released' },
      },
      after: { drain: { actions: 'giveUp', target: 'released' } },
    },
    released: { type: 'final' },
  },
});
