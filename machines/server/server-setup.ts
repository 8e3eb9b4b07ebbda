/**
 * Context, events, guards, actions and delays shared by the four regions of the server chart. The
 * regions are in the files next to this one; `server.ts` joins them.
 */

import { assertEvent, assign, enqueueActions, raise, sendParent, sendTo, setup } from 'xstate';
import { longestTimerMs } from '../../src/domain/clock.ts';
import type { Failure } from '../../src/domain/failure.ts';
import type { BreakerPolicy, StormLimit } from '../../src/domain/policy.ts';
import type { BlockedReason } from '../../src/domain/server-state.ts';
import type { SessionCommand, SessionEnd } from '../../src/domain/session.ts';
import { wakeDelay } from '../../src/policies/backoff.ts';
import { withEvidence } from '../../src/policies/failures/loss-evidence.ts';
import {
  failedAlike,
  hasAttemptsLeft,
  isBusyStart,
  isLostRemote,
  isNotStartable,
  isRestartForbidden,
  sleepsAfterGivingUp,
} from '../../src/policies/failures/restart-decision.ts';
import { chanceOf } from '../../src/policies/seeded-random.ts';
import { sessionMachine } from '../session/session.ts';
import {
  afterEnd,
  afterExchange,
  endsOnDemand,
  hangOf,
  isBeyondRetry,
  isCrashLooping,
  isReconnectStorm,
  isStored,
  isStorming,
  mayShowStored,
  poolOf,
  quietWait,
  reconnectWait,
  type ServerContext,
  type ServerEvent,
  type ServerInput,
} from './context.ts';

/** A full budget, and a start that does not follow a loss. */
export const freshTries = { attempt: 0, waits: 0, quietWaits: 0, sameExits: 0 } as const;
const freshBudget = { tries: freshTries, hasServed: false, floods: 0 } as const;

export const noPeer = { era: null, pid: null, impairments: [] };
export const freshWindows = { crashTimes: [], lossTimes: [] };

/** A caller is waiting for the server to run. */
const wanted = { demanded: true, awaited: true, loss: null } as const;

// After a minute of service, the last failure is no longer worth showing, whatever the budget.
const calmMs = 60_000;

/** Creates a report to the root that carries only this actor's id. */
function newsOf<Type extends string>(type: Type) {
  return ({ context }: { readonly context: ServerContext }) => ({
    type,
    actorId: context.actorId,
  });
}

/** Returns whether a transition is the start of the actor, which its events do not include. */
function isInit({ type }: { readonly type: string }): boolean {
  return type === 'xstate.init';
}

export const serverSetup = setup({
  types: {
    input: {} as ServerInput,
    context: {} as ServerContext,
    events: {} as ServerEvent,
    tags: {} as 'usable' | 'busy' | 'needsUser' | 'waits' | 'atRest',
  },
  actors: { session: sessionMachine },
  actions: {
    // Requests: what a command changes, whatever state the server is in.
    wishStart: assign({ stopWanted: false, ...wanted, ...freshBudget }),
    /** Stops the server until it is started again. */
    wishStop: assign({ stopWanted: true, demanded: false, awaited: false, loss: null }),
    /** Restarts the server with full budgets. */
    wishRestart: assign({ stopWanted: false, ...wanted, ...freshBudget, windows: freshWindows }),
    /** Starts the server with its current budgets. */
    wishReconnect: assign(wanted),
    /** Ends the server for good. */
    wishRetire: assign({ retiring: true }),
    /** Records that a caller is waiting for the server. */
    noteDemand: assign({ demanded: true, awaited: true }),
    // An idle server was healthy: its next start is not a retry.
    forgetDemand: assign({ demanded: false, ...freshBudget }),
    // The server was given up until it is demanded: the next demand is a fresh start.
    forgetDemandAndLoss: assign({ demanded: false, awaited: false, loss: null, ...freshBudget }),
    // A session that is replaced on request has not failed.
    takeTryBack: assign(({ context: { tries } }) => ({
      tries: { ...tries, attempt: Math.max(0, tries.attempt - 1) },
    })),
    /** Records that the server was ready: a later failure is an outage. */
    noteServed: assign(({ context }) => ({
      awaited: false,
      hasServed: true,
      ...(context.policy.restart.budgetReset === 'immediate' ? { tries: freshTries } : {}),
    })),
    /** Records that the server may run. */
    noteAdmitted: assign({ verdict: 'admitted' }),
    /** Records that the server may no longer run; a later start begins with full budgets. */
    noteWithdrawn: assign(({ event }) => {
      assertEvent(event, 'admission.withdrawn');
      return { verdict: event.verdict, loss: null, ...freshBudget };
    }),
    /** Applies the settings that need no new session. */
    applySpec: assign(({ event, context }) => {
      assertEvent(event, 'spec.updated');
      const becameEager = event.startup === 'eager' && context.startup === 'lazy';
      return {
        startup: event.startup,
        policy: event.policy,
        demanded: context.demanded || becameEager,
      };
    }),

    // The session.
    /** Begins a session: nothing is known about the server yet. */
    beginSession: assign(({ context: { session, tries } }) => ({
      session: session + 1,
      tries: { ...tries, attempt: tries.attempt + 1 },
      servedMs: 0,
      loss: null,
      peer: noPeer,
    })),
    /** Records the server's era and process when the handshake is done. */
    noteOpened: assign(({ event, context: { peer } }) => {
      assertEvent(event, 'session.opened');
      return { peer: { ...peer, era: event.era, pid: event.pid ?? null } };
    }),
    /** Records since when the session is ready. */
    noteReadySince: assign(({ event }) => {
      assertEvent(event, 'session.listed');
      return { readyAt: event.at };
    }),
    /** Forgets the server's era, process and limits, because there is no session. */
    forgetPeer: assign({ peer: noPeer }),
    /** Records what limits the session. */
    noteImpaired: assign(({ event, context: { peer } }) => {
      assertEvent(event, 'session.impaired');
      const { reason, failure = null } = event;
      const others = peer.impairments.filter((other) => other.reason !== reason);
      return {
        peer: { ...peer, impairments: [...others, { reason, failure }] },
        ...(failure === null ? {} : { lastError: failure }),
      };
    }),
    /** Records that a limit no longer applies. */
    noteRecovered: assign(({ event, context: { peer } }) => {
      assertEvent(event, 'session.recovered');
      const impairments = peer.impairments.filter(({ reason }) => reason !== event.reason);
      return { peer: { ...peer, impairments } };
    }),

    // A failure while the machine slept is not counted against the server.
    drawWakeDelay: assign(({ event, context }) => {
      assertEvent(event, 'server.woke');
      const { seed, session, tries } = context;
      const delayMs = wakeDelay(event.spreadMs, chanceOf(seed, session));
      return { delayMs, tries: { ...tries, attempt: Math.max(0, tries.attempt - 1) } };
    }),
    // A later start counts losses from zero.
    forgetWindows: assign({ windows: freshWindows, floods: 0 }),
    /** Restores the full budget for the next outage, because the server served long enough. */
    forgetAttempts: assign({ tries: freshTries, lastError: null, floods: 0 }),
    // The root requests the permits of the servers that start at once, all of them together.
    askForSlot: enqueueActions(({ context, event, enqueue }) => {
      if (isInit(event)) return;
      enqueue.sendParent({
        type: 'slot.requested' as const,
        actorId: context.actorId,
        pool: poolOf(context),
        demanded: context.awaited,
        retry: context.tries.attempt > 1 || context.hasServed,
      });
    }),
    /** Reports to the root that this server serves, and therefore that its list is known. */
    reportReady: sendParent(newsOf('server.readied')),
    // The root retires a server itself, and that order reaches every region.
    reportFalter: enqueueActions(({ context: { actorId }, event, enqueue }) => {
      if (event.type === 'server.retire') return;
      enqueue.sendParent({ type: 'server.faltered' as const, actorId });
      enqueue.raise({ type: 'server.faltered' });
    }),
    // The root computes which servers start halted; thousands of them need not report it.
    reportHalt: enqueueActions(({ context: { succeeds, actorId }, event, enqueue }) => {
      if (succeeds || !isInit(event))
        enqueue.sendParent({ type: 'server.halted' as const, actorId });
    }),
    /** Reports to the root that this server continues. */
    reportResumption: sendParent(newsOf('server.resumed')),
    // Thousands of servers may be dormant; the root needs this report only from a successor.
    reportGivingUp: enqueueActions(({ context: { succeeds, actorId }, enqueue }) => {
      if (succeeds) enqueue.sendParent({ type: 'successor.gaveUp' as const, actorId });
    }),
    /** Asks the root for a start, which may need a place of the budget. */
    askToStart: sendParent(({ context }) => ({
      type: 'server.start' as const,
      server: context.name,
    })),
    /** Returns the permit or leaves the queue; does nothing if it has neither. */
    returnSlot: sendParent(newsOf('slot.returned')),
    /** Requests the tools, which is the circuit's probe. */
    tellSessionToList: sendTo('session', { type: 'session.list' }),
    /** Requests all lists, because the user or the host wants them now. */
    tellSessionToRefresh: sendTo('session', { type: 'session.refresh' }),
    /** Ends the session gracefully, within its own deadlines. */
    tellSessionToClose: sendTo('session', { type: 'session.close' }),
    /** Gives up the session because the server stopped answering health checks. */
    giveSessionUp: sendTo('session', ({ event }): SessionCommand => {
      assertEvent(event, 'server.hung');
      return { type: 'session.giveUp', failure: hangOf(event.failedChecks) };
    }),
    /** Passes new policy numbers to the session. */
    passOnPolicy: sendTo(
      'session',
      ({ context }): SessionCommand => ({ type: 'policy.updated', policy: context.policy }),
    ),
    /** Makes the session check its connection because the machine slept. */
    passOnWake: sendTo('session', ({ event }): SessionCommand => {
      assertEvent(event, 'server.woke');
      return event;
    }),

    // How the session ended.
    recordEnd: assign(({ context }, end: SessionEnd) => afterEnd(context, end)),
    /** Adds the evidence of the session's end to the loss for which it was closed, if any. */
    recordEvidence: assign(({ context }, end: SessionEnd) => {
      if (context.loss === null) return {};
      const loss = withEvidence(context.loss, end);
      return { loss, lastError: loss };
    }),
    // Waiting in our own queue is not a sign of a faulty server, so the attempt does not count.
    recordQueueDeadline: assign(({ context: { tries } }) => {
      const loss: Failure = {
        kind: 'notStarted',
        message: 'No start permit came free in time; it will be tried again.',
      };
      return { loss, lastError: loss, tries: { ...tries, attempt: tries.attempt - 1 } };
    }),
    // There is no backoff before a replacement, so only this count bounds their rate.
    recordExchange: assign(({ event, context }) => {
      assertEvent(event, 'breaker.tripped');
      return afterExchange(context, event.at);
    }),
    /** Records that the session chart threw, which is our bug. */
    recordBrokenSession: assign(({ context }) => {
      const loss: Failure = { kind: 'unknown', message: 'The session broke; please report it.' };
      // A session that broke while closing for a rest or a stop is not a loss.
      return { loss: context.demanded ? loss : null, lastError: loss };
    }),
    /** Records why the tools could not be listed. */
    recordFailedList: assign(({ event }) => {
      assertEvent(event, 'session.listFailed');
      return { lastError: event.failure };
    }),
    /** Chooses the wait before the next attempt, with jitter. */
    drawReconnectDelay: assign(({ context }) => reconnectWait(context)),
    /** Chooses a remote server's long wait after giving up. */
    drawLostDelay: assign(({ context }) => quietWait(context)),

    // Reports from one region to the others.
    announceListing: raise({ type: 'server.listed' }),
    /** Reports to the other regions that there has been no call for a long time. */
    announceIdle: raise({ type: 'server.idled' }),
    /**
     * Reports to the other regions that the server's last call is done and its successor serves.
     */
    announceRelief: raise({ type: 'server.relieved' }),
    /** Reports to the other regions that the server hangs. */
    announceHang: raise(({ event }) => {
      assertEvent(event, 'session.silent');
      return { type: 'server.hung' as const, failedChecks: event.failedChecks };
    }),
    /** Reports to the other regions that the server was given up. */
    announceGivingUp: raise({ type: 'server.gaveUp' }),
    /** Reports to the other regions that the server rests. */
    announceRest: raise({ type: 'server.rested' }),
    /** Reports to the other regions that the server ends. */
    announceEnd: raise({ type: 'server.ended' }),
    /** Requests a probe for the circuit. */
    askForProbe: raise({ type: 'probe.wanted' }),
    /** Reports to the circuit that its probe has begun. */
    announceProbe: raise({ type: 'probe.began' }),
    /** Reports to the other regions that too many calls failed. */
    announceTrip: raise(({ event }) => {
      assertEvent(event, 'call.failed');
      return { type: 'breaker.tripped' as const, at: event.at };
    }),

    // Catalog and circuit.
    rememberCatalog: assign({ hasStoredCatalog: true }),
    /** Records that the stored list no longer exists. */
    forgetCatalog: assign({ hasStoredCatalog: false }),
    /** Counts another consecutive failed call. */
    countFailedCall: assign(({ context: { circuit } }) => ({
      circuit: { ...circuit, failedCalls: circuit.failedCalls + 1 },
    })),
    /** Resets the count because a call succeeded. */
    forgetFailedCalls: assign(({ context: { circuit } }) => ({
      circuit: { ...circuit, failedCalls: 0 },
    })),
    /** Starts the policy's initial cool-down. */
    startCooldown: assign(({ context }) => ({
      circuit: { cooldownMs: context.policy.breaker.cooldownMs, failedCalls: 0 },
    })),
    /** Doubles the next cool-down, up to the maximum, because the probe failed. */
    lengthenCooldown: assign(({ context: { circuit, policy } }) => {
      const cooldownMs = Math.min(circuit.cooldownMs * 2, policy.breaker.maxCooldownMs);
      return { circuit: { ...circuit, cooldownMs } };
    }),
  },
  guards: {
    /** Whether the root is retiring this actor. */
    isRetiring: ({ context }) => context.retiring,
    /** Whether the settings disable the server. */
    isDisabled: ({ context }) => context.verdict === 'disabled',
    /** Whether the settings, a list or the user's decision keeps it from running. */
    isBlocked: ({ context: { verdict } }) => verdict !== 'admitted' && verdict !== 'disabled',
    /** Whether the server is blocked for this reason. */
    isBlockedBy: ({ context }, params: { readonly reason: BlockedReason }) =>
      context.verdict === params.reason,
    /** Whether the user stopped it and has not started it since. */
    isStopWanted: ({ context }) => context.stopWanted,
    /** Whether its session ended with a failure of this kind. */
    hasLost: ({ context }, params: { readonly kind: Failure['kind'] }) =>
      context.loss?.kind === params.kind,
    /**
     * Whether one of the two limits on lost sessions is reached and the policy reacts in this way.
     */
    isStorming: ({ context }, params: Pick<StormLimit, 'action'>) =>
      isStorming(context, params.action),
    /** Whether too many sessions that served ended in a crash and the policy reacts in this way. */
    isCrashLooping: ({ context }, params: Pick<StormLimit, 'action'>) =>
      isCrashLooping(context, params.action),
    /**
     * Whether too many sessions that served were lost and the policy reacts in this way, or too
     * many ended in a flood.
     */
    isReconnectStorm: ({ context }, params: Pick<StormLimit, 'action'>) =>
      isReconnectStorm(context, params.action),
    /** Whether a retry would not help, or the policy fails a server in a storm. */
    isBeyondRetry: ({ context }) => isBeyondRetry(context),
    /**
     * Whether the server responded to its start with "come back later" and the policy has its own
     * waits for that.
     */
    isBusyStart: ({ context }) => isBusyStart(context),
    /** Whether no attempts are left and the policy makes it dormant until a caller needs it. */
    sleepsAfterGivingUp: ({ context }) => sleepsAfterGivingUp(context),
    /** A variable or its command is missing, and the policy does not retry that. */
    isNotStartable: ({ context }) => isNotStartable(context),
    /** Whether the policy forbids restarting a server that ended like this. */
    isRestartForbidden: ({ context }) => isRestartForbidden(context),
    /** Whether it is retried after a wait: within its budget, or quietly after that. */
    isTriedAgain: ({ context }) => hasAttemptsLeft(context) || isLostRemote(context),
    /** Whether the budget of the start or outage has an attempt left. */
    hasAttemptsLeft: ({ context }) => hasAttemptsLeft(context),
    /** Whether no attempts are left but a remote server is retried quietly without end. */
    isLostRemote: ({ context }) => isLostRemote(context),
    /** Whether so many starts failed the same way that the policy makes no other. */
    hasFailedAlike: ({ context }) => failedAlike(context),
    /** Whether a session was lost and the chart has not reacted yet. */
    isLost: ({ context }) => context.loss !== null,
    /** Whether no caller needs the server now. */
    isUndemanded: ({ context }) => !context.demanded,
    /** Whether the report is about the current session, not an earlier one. */
    isCurrentSession: ({ context }, params: { readonly session: number }) =>
      params.session === context.session,
    /** Whether the policy stops idle servers. */
    stopsWhenIdle: ({ context }) => context.policy.idle.stopMs !== null,
    /** Whether enough consecutive health checks failed. */
    hasHung: ({ context }, { failedChecks }: { readonly failedChecks: number }) =>
      failedChecks >= context.policy.health.failures,
    /** Whether the server is not being retired. */
    isToStay: ({ context }) => !context.retiring,
    /** Whether a call need not wait for the first attempt of an outage. */
    endsOnDemand: ({ context }) => endsOnDemand(context),
    /**
     * Whether its last failure may be the lack of an answer: that includes a start that timed out
     * while it waited for the answer, and one whose question was declined.
     */
    mayLackAnswer: ({ context: { lastError } }) =>
      lastError?.kind === 'initTimeout' || lastError?.kind === 'unavailable',
    // A server's own Retry-After takes precedence.
    isNotAskedToWait: ({ context }) => context.loss?.retryAfterMs === undefined,
    // Without a threshold, nothing is counted and nothing ever trips.
    countsCalls: ({ context }, params: { readonly session: number }) =>
      params.session === context.session && context.policy.breaker.threshold !== null,
    /**
     * Whether one more failed call reaches the policy's threshold and the policy reacts in this
     * way.
     */
    reachesThreshold: (
      { context: { circuit, policy, session } },
      params: Pick<BreakerPolicy, 'action'> & { readonly session: number },
    ) => {
      const { threshold, action } = policy.breaker;
      if (params.session !== session || params.action !== action) return false;
      return threshold !== null && circuit.failedCalls + 1 >= threshold;
    },
    /** Whether a lost server's tools stay in the list. */
    keepsStale: ({ context }) => context.policy.catalog.whileDown === 'keepStale',
    /** Whether a lost server's tools stay in the list even after its last attempt. */
    keepsAfterGivingUp: ({ context }) => context.policy.catalog.afterGiveUp === 'keepStale',
    /** Whether a lost server's stored tools stay, marked as deferred. */
    defersWhileDown: ({ context }) =>
      context.policy.catalog.whileDown === 'deferred' && isStored(context),
    /** Whether the stored list may be shown instead of a live one. */
    mayShowStored: ({ context }) => mayShowStored(context),
    // These two check a server that is about to be admitted or started.
    mayShowStoredOnceAdmitted: ({ context }) =>
      isStored(context) && !context.stopWanted && !context.retiring,
    /** Whether the stored list may be shown as soon as the server is started. */
    mayShowStoredOnceStarted: ({ context }) =>
      isStored(context) && context.verdict === 'admitted' && !context.retiring,
  },
  delays: {
    /** How long the server waits for a permit. */
    queueDeadline: ({ context }) => context.policy.connect.queueTimeoutMs,
    /** The wait that was chosen when the backoff began. */
    reconnectBackoff: ({ context }) => context.delayMs,
    /** How long the server must serve to regain its full budget. */
    sustainedReady: ({ context: { policy } }) =>
      policy.restart.budgetReset === 'immediate' ? calmMs : policy.restart.budgetReset.sustainedMs,
    // Without a deadline, the longest wait that a timer can hold; the guard then ignores it.
    idleDeadline: ({ context }) => context.policy.idle.stopMs ?? longestTimerMs,
    // The settings' call timeout; calls with a longer timeout are cut off.
    drainDeadline: ({ context }) => context.policy.call.timeoutMs,
    /** How long no calls are sent. */
    circuitCooldown: ({ context }) => context.circuit.cooldownMs,
    /** How long a half-open circuit's probe may take. */
    probeDeadline: ({ context }) => context.policy.breaker.probeTimeoutMs,
  },
});

/** Maps a fact to the parameter of the guards that check which session it is about. */
export function ofSession({ event }: { readonly event: { readonly session: number } }): {
  readonly session: number;
} {
  return { session: event.session };
}

/** The state in which every loss and every request is decided. */
export const settle = '#connection.settling';
