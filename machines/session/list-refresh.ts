/**
 * Refreshes one of a server's lists: its tools, its resources with their templates, or its prompts.
 *
 * The session chart starts this chart when a list is due, and it ends when the list is current. A
 * change that the server announces in the meantime causes another refresh. Refreshes never overlap,
 * so an older list never replaces a newer one. A pause follows each refresh and doubles while the
 * server keeps announcing changes. A failed refresh is retried later; the session keeps the old
 * list.
 *
 * ```text
 * [*] -> listing
 * refresh -- policy.updated --> (stays)
 * listing invokes listItems
 * listing -- done listItems [isOutdated] --> pausing.due
 * listing -- done listItems [hasFailed] --> failed
 * listing -- done listItems --> pausing
 * listing -- error listItems --> failed
 * listing -- after listDeadline [isOutdated] --> pausing.due
 * listing -- after listDeadline --> failed
 * listing: [*] -> fresh
 *   fresh -- list.changed | list.demanded --> outdated
 *   outdated
 * pausing -- list.demanded --> listing
 * pausing -- after pause [isDue] --> listing
 * pausing -- after pause --> current
 * pausing: [*] -> settled
 *   settled -- list.changed --> due
 *   due
 * failed -- list.changed --> pausing.due
 * failed -- list.demanded | after relistPause --> listing
 * current -> [*]
 * ```
 */

import { assertEvent, assign, fromPromise, sendParent, setup, stateIn } from 'xstate';
import type { Failure } from '../../src/domain/failure.ts';
import type { ListName, ListOutcome, RefreshFact, SessionId } from '../../src/domain/session.ts';
import { notProvided } from '../not-provided.ts';

export interface RefreshInput extends SessionId {
  readonly list: ListName;
  /** How long a list may take, in milliseconds. */
  readonly listTimeoutMs: number;
}

export interface RefreshContext extends RefreshInput {
  /** The pause after the current list, in milliseconds. */
  readonly pauseMs: number;
  /** The wait before a failed list is retried, in milliseconds. */
  readonly retryMs: number;
}

export type RefreshEvent =
  /** `changed`: the server announced a change. `demanded`: refreshes now, even during a pause. */
  | { readonly type: 'list.changed' | 'list.demanded' }
  /** The settings changed; takes effect with the next list. */
  | { readonly type: 'policy.updated'; readonly listTimeoutMs: number };

// A client soon learns of a few changes in a row. A server that keeps announcing them is listed
// once a second before long, and its tools only once every half minute.
const firstPauseMs = 250;
const longestPauseMs: Readonly<Record<ListName, number>> = {
  tools: 30_000,
  resources: 1_000,
  prompts: 1_000,
};
// Half a minute, the default deadline of a list: a failing server is not queried more often.
const firstRetryMs = 30_000;
// A model needs the tools most, so they are retried at a constant rate.
const longestRetryMs: Readonly<Record<ListName, number>> = {
  tools: firstRetryMs,
  resources: 300_000,
  prompts: 300_000,
};

const refreshSetup = setup({
  types: {
    input: {} as RefreshInput,
    context: {} as RefreshContext,
    events: {} as RefreshEvent,
  },
  actors: {
    listItems: fromPromise<ListOutcome, SessionId & { readonly list: ListName }>(
      notProvided('listItems', 'refresh'),
    ),
  },
  actions: {
    /** Reports the outcome to the session chart. */
    report: sendParent(({ context }, outcome: ListOutcome): RefreshFact => {
      return { type: 'list.settled', list: context.list, outcome };
    }),
    /** Applies new settings. */
    applyDeadline: assign(({ event }) => {
      assertEvent(event, 'policy.updated');
      return { listTimeoutMs: event.listTimeoutMs };
    }),
    /**
     * Records the outcome; after a successful list, the next failure is the first of a new series.
     */
    noteOutcome: assign(({ context }, { type }: ListOutcome) => ({
      retryMs: type === 'listed' ? firstRetryMs : context.retryMs,
    })),
    /** Doubles the wait before the next retry, up to its limit. */
    lengthenRetry: assign(({ context: { list, retryMs } }) => ({
      retryMs: Math.min(retryMs * 2, longestRetryMs[list]),
    })),
    /** Doubles the next pause, up to its limit. */
    lengthenPause: assign(({ context: { list, pauseMs } }) => ({
      pauseMs: Math.min(pauseMs * 2, longestPauseMs[list]),
    })),
  },
  guards: {
    /** Whether a change was announced during the list. */
    isOutdated: stateIn({ listing: 'outdated' }),
    /** Whether another list is due. */
    isDue: stateIn({ pausing: 'due' }),
    /** Whether the list failed. */
    hasFailed: (_, outcome: ListOutcome) => outcome.type === 'failed',
  },
  delays: {
    /** How long a list may take. */
    listDeadline: ({ context }) => context.listTimeoutMs,
    /** Pause between two lists. */
    pause: ({ context }) => context.pauseMs,
    /** Pause before a failed list is retried. */
    relistPause: ({ context }) => context.retryMs,
  },
});

function outcomeOf({ event }: { readonly event: { readonly output: ListOutcome } }): ListOutcome {
  return event.output;
}

function failureOf(kind: Failure['kind'], message: string): ListOutcome {
  return { type: 'failed', failure: { kind, message } };
}

/** Reports that the list took too long. */
const reportLate = {
  type: 'report',
  params: ({ context: { list, listTimeoutMs } }: { readonly context: RefreshContext }) =>
    failureOf('protocol', `The server did not list its ${list} within ${listTimeoutMs} ms.`),
} as const;
/** Reports that a leaf actor threw, which is our bug. */
const reportFault = {
  type: 'report',
  params: ({ context: { list } }: { readonly context: RefreshContext }) =>
    failureOf('unknown', `The list of ${list} broke; please report it.`),
} as const;
const report = { type: 'report', params: outcomeOf } as const;
const noteOutcome = { type: 'noteOutcome', params: outcomeOf } as const;

/** The refresh of one of a server's lists. */
export const refreshMachine = refreshSetup.createMachine({
  options: { maxIterations: 1_000 },
  id: 'refresh',
  context: ({ input }) => ({ pauseMs: firstPauseMs, retryMs: firstRetryMs, ...input }),
  on: { 'policy.updated': { actions: 'applyDeadline' } },
  initial: 'listing',
  states: {
    listing: {
      initial: 'fresh',
      invoke: {
        id: 'listItems',
        src: 'listItems',
        input: ({ context: { actorId, server, generation, session, list } }) => ({
          actorId,
          server,
          generation,
          session,
          list,
        }),
        onDone: [
          { guard: 'isOutdated', actions: [report, noteOutcome], target: 'pausing.due' },
          { guard: { type: 'hasFailed', params: outcomeOf }, actions: report, target: 'failed' },
          { actions: [report, noteOutcome], target: 'pausing' },
        ],
        onError: { actions: reportFault, target: 'failed' },
      },
      after: {
        listDeadline: [
          { guard: 'isOutdated', actions: reportLate, target: 'pausing.due' },
          { actions: reportLate, target: 'failed' },
        ],
      },
      states: {
        fresh: { on: { 'list.changed': 'outdated', 'list.demanded': 'outdated' } },
        outdated: {},
      },
    },
    pausing: {
      initial: 'settled',
      on: { 'list.demanded': 'listing' },
      after: {
        pause: [
          { guard: 'isDue', actions: 'lengthenPause', target: 'listing' },
          { target: 'current' },
        ],
      },
      states: {
        settled: { on: { 'list.changed': 'due' } },
        // Another list follows after the pause.
        due: {},
      },
    },
    failed: {
      on: { 'list.changed': 'pausing.due', 'list.demanded': 'listing' },
      after: { relistPause: { actions: 'lengthenRetry', target: 'listing' } },
    },
    current: { type: 'final' },
  },
});
