/**
 * Context, events, guards, actions and delays shared by the states of the session chart. The states
 * are in the files next to this one; `session.ts` joins them.
 */

import {
  assertEvent,
  assign,
  cancel,
  type DoneActorEvent,
  type ErrorActorEvent,
  enqueueActions,
  fromCallback,
  fromPromise,
  raise,
  sendParent,
  sendTo,
  setup,
  stateIn,
} from 'xstate';
import { longestTimerMs } from '../../src/domain/clock.ts';
import type { Failure } from '../../src/domain/failure.ts';
import type { ServerPolicy } from '../../src/domain/policy.ts';
import { isRemote } from '../../src/domain/server-spec.ts';
import type {
  CloseOutcome,
  ConnectOutcome,
  LaunchOutcome,
  ListName,
  ListOutcome,
  ProbeAnswer,
  RefreshFact,
  ResolveOutcome,
  SessionCommand,
  SessionEnd,
  SessionFact,
  SessionId,
  SessionInput,
  StepFailed,
  WireCommand,
  WireFact,
} from '../../src/domain/session.ts';
import { wakeDelay } from '../../src/policies/backoff.ts';
import { firstRunExtraMs } from '../../src/policies/package-download.ts';
import { chanceOf } from '../../src/policies/seeded-random.ts';
import { methods } from '../../src/protocol/methods.ts';
import { notProvided } from '../not-provided.ts';
import { refreshMachine } from './list-refresh.ts';

/** As a `SessionEnd`, it says how the session would end now; `failure` is null before the end. */
export interface SessionContext extends SessionInput, SessionEnd {
  /** Whether we started the server's process. */
  readonly hasProcess: boolean;
  /** Whether the server's protocol era is probed before the handshake. */
  readonly asksEra: boolean;
  /** The lists other than tools that the server offers. */
  readonly offers: Readonly<Record<'resources' | 'prompts', boolean>>;
  /** The Streamable HTTP failure that preceded the SSE fallback. */
  readonly refusal: StepFailed | null;
  /** What is missing from each list. */
  readonly gaps: Readonly<Record<ListName, Failure | null>>;
  /** Consecutive failed health checks; at most `policy.health.failures`. */
  readonly failedChecks: number;
  /** Window over which health checks are spread after a wake-up, in milliseconds. */
  readonly wakeSpreadMs: number;
}

/** What one region reports to the others. Never sent from outside. */
type InternalEvent = { readonly type: 'start.expired' | 'input.flooded' | 'part.broke' };

/** The connection's actor threw. */
type WireError = ErrorActorEvent<unknown, 'wire'>;
/** The handshake is over, one way or the other. */
type Greeted = DoneActorEvent<ConnectOutcome, 'connectClient'>;

export type SessionEvent =
  | SessionCommand
  | WireFact
  | RefreshFact
  | WireError
  | Greeted
  | InternalEvent;

// SIGKILL takes milliseconds, and a connection waits a quarter of a second for it to take effect;
// this is twice that.
const killMs = 500;
/** How long a server may stay over its input budget, in milliseconds. */
const floodLimitMs = 10_000;
const floodFailure: Failure = {
  kind: 'protocol',
  message: `The server kept sending more than may be read for ${floodLimitMs / 1_000} s.`,
};
const fault: Failure = { kind: 'unknown', message: 'The session broke; please report it.' };
const brokenOff: Failure = {
  kind: 'transport',
  message: 'The connection broke off, and the process did not end.',
};
const silence: Failure = {
  kind: 'transport',
  message: 'The server did not answer when it was asked whether it is alive.',
};

/** Returns the deadline of a handshake; null if it has none. */
function connectTimeoutOf({ policy, transport, isFirstRun }: SessionContext): number | null {
  const { localTimeoutMs, remoteTimeoutMs } = policy.connect;
  if (isRemote(transport)) return remoteTimeoutMs;
  if (localTimeoutMs === null || !isFirstRun) return localTimeoutMs;
  return localTimeoutMs + firstRunExtraMs(policy.connect);
}

/** Returns how long a server has to answer a health check, in milliseconds. */
function checkTimeoutOf({ breaker, health }: ServerPolicy): number {
  return Math.min(breaker.probeTimeoutMs, health.everyMs);
}

/** Returns the gap to report: a gap in the tools comes first. */
function gapIn({ tools, resources, prompts }: SessionContext['gaps']): Failure | null {
  return tools ?? resources ?? prompts;
}

function late(what: string): Failure {
  return { kind: 'initTimeout', message: `The server did not ${what}.` };
}

export const freshGaps = { tools: null, resources: null, prompts: null } as const;

type Connected = Extract<ConnectOutcome, { type: 'connected' }>;
type Unconnected = Extract<ConnectOutcome, { type: 'failed' }>;
type Listed = Extract<ListOutcome, { type: 'listed' }>;
type Resolved = Pick<SessionContext, 'hasProcess' | 'asksEra'>;
type ProbeResult = { readonly answer: ProbeAnswer; readonly failure?: Failure };
/** Why something failed, and when, if the reporter has a clock. */
type Failed = Pick<Partial<StepFailed>, 'at'> & Pick<StepFailed, 'failure'>;

const missing = (actor: string) => notProvided(actor, 'session');

export const sessionSetup = setup({
  types: {
    input: {} as SessionInput,
    context: {} as SessionContext,
    events: {} as SessionEvent,
    output: {} as SessionEnd,
  },
  actors: {
    wire: fromCallback<WireCommand, SessionId>(missing('wire')),
    resolveTarget: fromPromise<ResolveOutcome, SessionId>(missing('resolveTarget')),
    launchProcess: fromPromise<LaunchOutcome, SessionId & { readonly isSecond: boolean }>(
      missing('launchProcess'),
    ),
    connectClient: fromPromise<
      ConnectOutcome,
      SessionId & { readonly handshake: 'negotiated' | 'old' | 'overSse' }
    >(missing('connectClient')),
    listItems: fromPromise<ListOutcome, SessionId & { readonly list: ListName }>(
      missing('listItems'),
    ),
    refresh: refreshMachine,
    closeConnection: fromPromise<
      CloseOutcome,
      SessionId & { readonly how: 'orderly' | 'lost' | 'draining' }
    >(missing('closeConnection')),
  },
  actions: {
    // The start.
    /** Stores the resolved settings. */
    noteResolved: assign((_, { hasProcess, asksEra }: Resolved) => ({ hasProcess, asksEra })),
    /** Records what the server offers when the handshake is done. */
    noteConnected: assign((_, { offers, at }: Connected) => ({ offers, at })),
    /** Reports the era and the process to the server chart. */
    reportOpened: sendParent((_, { at, era, pid }: Connected): SessionFact => {
      return { type: 'session.opened', at, era, ...(pid !== undefined && { pid }) };
    }),
    /**
     * Records that the address refused the current transport; SSE is tried next, and may fail for a
     * less useful reason.
     */
    noteRefusal: assign((_, refusal: StepFailed) => ({ refusal })),
    /** Starts the deadline for everything up to the handshake. */
    startConnectDeadline: raise(
      { type: 'start.expired' },
      { id: 'connectDeadline', delay: 'connectDeadline' },
    ),
    /** Starts the deadline for the first list. */
    startListDeadline: raise(
      { type: 'start.expired' },
      { id: 'listDeadline', delay: 'listDeadline' },
    ),
    /** Cancels the deadline for the handshake. */
    cancelConnectDeadline: cancel('connectDeadline'),
    /** Cancels the deadline for the first list. */
    cancelListDeadline: cancel('listDeadline'),

    // Why it ends.
    /** Records why a step failed or the connection ended. */
    recordFailure: assign(({ context }, { failure, at = context.at }: Failed) => ({ failure, at })),
    /** Records why the server chart gives the session up. */
    recordGivenUp: assign(({ event }) => {
      assertEvent(event, 'session.giveUp');
      return { failure: event.failure };
    }),
    /** Records that the handshake took too long. */
    recordLateConnect: assign(({ context }) => ({
      failure: late(`finish its handshake within ${connectTimeoutOf(context)} ms`),
    })),
    /** Records that the first list took too long. */
    recordLateList: assign(({ context }) => ({
      failure: late(`list its tools within ${context.policy.connect.listTimeoutMs} ms`),
    })),
    /** Records that the server sent too much for too long. */
    recordFlood: assign({ failure: floodFailure, isFlood: true }),
    /** Records that the connection broke and its end was never reported. */
    recordBreak: assign({ failure: brokenOff }),
    /** Records that a leaf actor threw, which is our bug. */
    recordFault: assign({ failure: fault }),
    /** Reports that the session no longer serves although its process has yet to end. */
    reportClosing: sendParent({ type: 'session.closing' } satisfies SessionFact),
    /** Kills the connection, because the graceful close took too long. */
    killConnection: sendTo('wire', { type: 'wire.kill' }),
    /** Records when the end was forced: its outcome may never arrive. */
    noteKill: assign(({ event }) => {
      assertEvent(event, 'wire.killed');
      return { at: event.at };
    }),
    /** Records what the connection left behind. */
    noteEnd: assign((_, { evidence, at }: CloseOutcome) => ({ evidence, at })),

    // The lists.
    /**
     * Records that the session is open: from now on, a failure is an outage, not a failed start.
     */
    noteOpen: assign({ wasOpen: true }),
    /** Reports a list of tools; other lists make no difference to the server chart. */
    reportListed: sendParent((_, { at, count }: Listed): SessionFact => {
      return { type: 'session.listed', at, toolCount: count };
    }),
    /** Reports that the tools could not be listed. */
    reportListFailed: sendParent((_, { failure }: Failed): SessionFact => {
      return { type: 'session.listFailed', failure };
    }),
    /** Stores a list's gap, and reports it if the session's gap changed. */
    noteGap: enqueueActions(
      ({ context, enqueue }, { list, outcome }: Omit<RefreshFact, 'type'>) => {
        const gap = outcome.type === 'listed' ? outcome.gap : outcome.failure;
        const gaps = { ...context.gaps, [list]: gap };
        const before = gapIn(context.gaps);
        const after = gapIn(gaps);
        enqueue.assign({ gaps });
        if (after?.message === before?.message) return;
        const reason = 'partialCatalog' as const;
        enqueue.sendParent(
          after === null
            ? { type: 'session.recovered' as const, reason }
            : { type: 'session.impaired' as const, reason, failure: after },
        );
      },
    ),
    /** Notifies the running list, which may be older than this change. */
    announceChange: sendTo((_, list: ListName) => list, { type: 'list.changed' }),
    /** Requests a list now, even during a pause. */
    demandList: sendTo((_, list: ListName) => list, { type: 'list.demanded' }),
    /** Passes a new deadline to the chart that refreshes this list. */
    passDeadlineOn: sendTo(
      (_, list: ListName) => list,
      ({ context }) => ({
        type: 'policy.updated',
        listTimeoutMs: context.policy.connect.listTimeoutMs,
      }),
    ),
    /** Reports which watched resources changed. */
    publishNews: sendTo('wire', { type: 'wire.publish' }),

    // The rest of an open session.
    /** Applies new settings. */
    applyPolicy: assign(({ event }) => {
      assertEvent(event, 'policy.updated');
      return { policy: event.policy };
    }),
    /** Reports what limits the session. */
    reportImpaired: sendParent(({ event }): SessionFact => {
      assertEvent(event, 'wire.impaired');
      const { reason, failure } = event;
      return { type: 'session.impaired', reason, ...(failure !== undefined && { failure }) };
    }),
    /** Reports that a limit no longer applies. */
    reportRecovered: sendParent(({ event }): SessionFact => {
      assertEvent(event, 'wire.recovered');
      return { type: 'session.recovered', reason: event.reason };
    }),
    /** Reports to the other regions that the server sent too much for too long. */
    announceFlood: raise({ type: 'input.flooded' }),
    /** Reports to the other regions that the chart that refreshes a list threw. */
    announceFault: raise({ type: 'part.broke' }),
    /** Sends a health check. */
    probe: sendTo('wire', { type: 'wire.probe' }),
    /** Has the connection reported as lost. */
    abandon: sendTo('wire', { type: 'wire.abandon' }),
    /** Stores the window over which checks are spread. */
    noteWake: assign(({ event }) => {
      assertEvent(event, 'server.woke');
      return { wakeSpreadMs: event.spreadMs };
    }),
    /** Records that the server is alive, which ends a series of failed checks. */
    noteAlive: enqueueActions(({ context, enqueue }) => {
      if (context.failedChecks === 0) return;
      enqueue.assign({ failedChecks: 0 });
      enqueue.sendParent({ type: 'session.recovered' as const, reason: 'healthCheck' as const });
    }),
    /** Counts another consecutive failed health check. */
    noteFailedCheck: enqueueActions(
      ({ context, enqueue }, { failure = silence }: { readonly failure?: Failure | undefined }) => {
        // A server that is busy with calls may not respond for a long time, so the count needs a
        // bound.
        const failedChecks = Math.min(context.failedChecks + 1, context.policy.health.failures);
        enqueue.assign({ failedChecks });
        enqueue.sendParent({
          type: 'session.impaired' as const,
          reason: 'healthCheck' as const,
          failure,
        });
        enqueue.sendParent({ type: 'session.silent' as const, failedChecks });
      },
    ),
  },
  guards: {
    // The outcome of a step.
    /** Whether the step failed. */
    hasFailed: (_, { type }: { readonly type: string }) => type === 'failed',
    /** Whether we started the server's process. */
    hasProcess: (_, { hasProcess }: Resolved) => hasProcess,
    /** Whether the protocol era is unknown, so it is probed first. */
    asksEra: (_, { asksEra }: Resolved) => asksEra,
    /** Whether the process exited instead of answering; an error is an answer, too. */
    hasLeft: ({ context }, { wasAnswered }: Partial<Unconnected>) =>
      context.hasProcess && wasAnswered === false,
    /** Whether the address refused the handshake the way an SSE server does. */
    mayBeOverSse: (_, { mayBeOverSse }: Partial<Unconnected>) => mayBeOverSse === true,
    /** Whether the era probe is being sent. */
    isEraQuestion: (_, { method }: { readonly method: string }) => method === methods.discover.name,
    /** Whether the handshake of the old era begins. */
    isInitialize: (_, { method }: { readonly method: string }) =>
      method === methods.initialize.name,

    // How the connection ended.
    /** Whether the server dropped the session but still answers requests in flight. */
    drains: (_, { drains }: { readonly drains: boolean }) => drains,
    /** Whether no process is left to end. */
    isGone: (_, { isGone }: { readonly isGone: boolean }) => isGone,

    // The lists.
    /** Whether the tools changed during the first list. */
    isStartOutdated: stateIn({ loadingTools: 'outdated' }),
    /** Whether the list contains the tools. */
    isOfTools: (_, { list }: { readonly list: ListName }) => list === 'tools',
    /** Whether listing the tools failed. */
    isFailureOfTools: (_, { list, outcome }: Omit<RefreshFact, 'type'>) =>
      list === 'tools' && outcome.type === 'failed',
    /** Whether the server offers this list. */
    isOffered: ({ context }, list: 'resources' | 'prompts') => context.offers[list],
    /** Whether the policy limits how long a list is valid. */
    mayExpire: ({ context }) => context.policy.catalog.ttlMs !== null,
    /** Whether more updates arrived during the pause. */
    hasMoreNews: stateIn({ open: { news: { gathering: 'changed' } } }),

    // Health.
    /** Whether the policy pings the server regularly. */
    isPinged: ({ context }) => context.policy.health.mode === 'ping',
    /** Whether the server responded at all, if only that it has no time. */
    isAnswer: (_, { answer, failure }: ProbeResult) =>
      answer !== 'none' || failure?.kind === 'rateLimited',
    /** Whether the response proves that the server is alive. */
    isSignOfLife: ({ context }, { answer }: { readonly answer: ProbeAnswer }) =>
      answer === 'alive' ||
      (answer === 'unknownMethod' && context.policy.health.treatMethodNotFoundAsAlive),
  },
  delays: {
    /** How long a handshake may take; some transports have no limit. */
    connectDeadline: ({ context }) => connectTimeoutOf(context) ?? longestTimerMs,
    /** How long a list may take. */
    listDeadline: ({ context }) => context.policy.connect.listTimeoutMs,
    // Without a limit, the longest wait that a timer can hold; the guard then ignores it.
    listExpiry: ({ context }) =>
      Math.min(context.policy.catalog.ttlMs ?? longestTimerMs, longestTimerMs),
    /** How long a graceful close may take before it is forced. */
    closeDeadline: ({ context }) => context.policy.close.totalMs,
    /** Longest time to close a session, including a forced end. */
    killDeadline: ({ context }) => context.policy.close.totalMs + killMs,
    /** Pause between two health checks. */
    checkPause: ({ context }) => context.policy.health.everyMs,
    /** How long the server has to answer a health check. */
    checkDeadline: ({ context }) => checkTimeoutOf(context.policy),
    /** After the machine wakes, each server is checked at its own moment. */
    wakePause: ({ context: { wakeSpreadMs, seed, session } }) =>
      wakeDelay(wakeSpreadMs, chanceOf(seed, session)),
    // Five seconds after a wake-up: a dead connection should be back within half a minute.
    wokenCheckDeadline: ({ context }) => Math.min(5_000, checkTimeoutOf(context.policy)),
    // Five seconds: servers that sleep while idle need a few to wake up.
    silenceDeadline: 5_000,
    // Two seconds: networks and some servers come back one or two seconds after the machine.
    doubtPause: 2_000,
    // Ten seconds: longer than a burst of startup output, short enough to limit the load.
    floodDeadline: floodLimitMs,
    // A tenth of a second: a flood of updates becomes ten reports a second.
    newsPause: 100,
  },
});

export function idOf({ context }: { readonly context: SessionId }): SessionId {
  const { actorId, server, generation, session } = context;
  return { actorId, server, generation, session };
}

/** Maps a step's outcome to the parameter of guards and actions; earlier guards have narrowed it. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- inferred from the parameter
export function outcomeOf<Outcome>({ event }: { event: { output: unknown } }): Outcome {
  return event.output as Outcome;
}

/** Maps the outcome of a refreshed list to the parameter of guards and actions. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- inferred from the parameter
export function settledAs<Outcome>({ event }: { event: { outcome: unknown } }): Outcome {
  return event.outcome as Outcome;
}

/** Passes the context to guards that also check outcomes. */
export function contextOf({ context }: { readonly context: SessionContext }): SessionContext {
  return context;
}

/** Maps an event to the parameter of guards and actions. */
export function eventOf<Event>({ event }: { readonly event: Event }): Event {
  return event;
}

/** Handles a leaf actor that threw, which is our bug. */
export const broken = {
  actions: ['recordFault', 'reportClosing'],
  target: '#session.closing',
} as const;

/** Handles a connection that is over, or that a request showed to be unusable. */
export const ends = [
  {
    guard: { type: 'drains', params: eventOf },
    actions: { type: 'recordFailure', params: eventOf },
    target: '#session.draining',
  },
  {
    guard: { type: 'isGone', params: eventOf },
    actions: { type: 'recordFailure', params: eventOf },
    target: '#session.releasing',
  },
  {
    actions: [{ type: 'recordFailure', params: eventOf }, 'reportClosing'],
    target: '#session.releasing',
  },
] as const;
