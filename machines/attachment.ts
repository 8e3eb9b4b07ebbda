/**
 * Decides when a process connects to the troupe that other processes share, again if need be.
 *
 * A connection that breaks is made again: at once, then after growing waits. The waits start over once
 * a connection has lasted a minute. After the last attempt, the process goes on without the troupe.
 * When the client closes, the troupe gets a moment to answer the requests in flight.
 *
 * ```text
 * [*] -> attaching
 * attachment -- client.closed --> closed
 * attaching -- connection.lost [mayRetry] --> waiting
 * attaching -- connection.lost --> lost
 * attaching -- troupe.attached --> attached
 * attaching -- troupe.refused --> refused
 * attached -- connection.lost [mayRetry] --> waiting
 * attached -- connection.lost --> lost
 * attached -- client.closed --> draining
 * attached -- after proven --> (stays)
 * draining -- connection.lost | after drain --> closed
 * draining -- client.closed --> (ignored)
 * waiting -- after wait --> attaching
 * closed -> [*]
 * refused -> [*]
 * lost -> [*]
 * ```
 */

import { assign, emit, setup } from 'xstate';

/** The waits before each attempt, in milliseconds. A troupe needs half a second for its start. */
export const attachWaitsMs = [0, 250, 1_000, 3_000, 8_000] as const;

// A connection that breaks sooner does not show that the troupe works.
const provenMs = 60_000;

/** How long the last answers may take: twice the time that the troupe gives its requests in flight. */
export const drainMs = 4_000;

export interface AttachmentContext {
  /** Connections that were lost in a row. */
  readonly losses: number;
}

export type AttachmentEvent =
  /** The troupe answered. */
  | { readonly type: 'troupe.attached' }
  /** The troupe answered that it will not serve this client. */
  | { readonly type: 'troupe.refused' }
  /** There is no troupe, or its connection broke. */
  | { readonly type: 'connection.lost' }
  /** The client needs the troupe no longer. */
  | { readonly type: 'client.closed' };

const attachmentSetup = setup({
  types: {
    context: {} as AttachmentContext,
    events: {} as AttachmentEvent,
    emitted: {} as { readonly type: 'attach.asked' },
  },
  actions: {
    /** Has the process connect. */
    attach: emit({ type: 'attach.asked' }),
    /** Counts a loss. */
    noteLoss: assign({ losses: ({ context }) => context.losses + 1 }),
    /** Lets the waits start over. */
    forgetLosses: assign({ losses: 0 }),
  },
  guards: {
    /** Whether another attempt is left. */
    mayRetry: ({ context }) => context.losses < attachWaitsMs.length,
  },
  delays: {
    /** The wait before the next attempt. */
    wait: ({ context }) => Number(attachWaitsMs[context.losses - 1]),
    /** How long a connection lasts that shows that the troupe works. */
    proven: provenMs,
    /** How long the last answers may take. */
    drain: drainMs,
  },
});

const losses = {
  'connection.lost': [
    { guard: 'mayRetry', actions: 'noteLoss', target: 'waiting' },
    { target: 'lost' },
  ],
} as const;

/** Decides when a process connects to the troupe that other processes share. */
export const attachmentMachine = attachmentSetup.createMachine({
  // A transition loop is a bug: a broken actor is better than a frozen process.
  options: { maxIterations: 1_000 },
  id: 'attachment',
  context: { losses: 0 },
  initial: 'attaching',
  on: { 'client.closed': '.closed' },
  states: {
    attaching: {
      entry: 'attach',
      on: { ...losses, 'troupe.attached': 'attached', 'troupe.refused': 'refused' },
    },
    attached: {
      on: { ...losses, 'client.closed': 'draining' },
      after: { proven: { actions: 'forgetLosses' } },
    },
    draining: {
      on: { 'connection.lost': 'closed', 'client.closed': {} },
      after: { drain: 'closed' },
    },
    waiting: { after: { wait: 'attaching' } },
    closed: { type: 'final' },
    refused: { type: 'final' },
    lost: { type: 'final' },
  },
});
