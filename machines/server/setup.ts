/**
 * The words, facts and small decisions that the four regions of the server
 * chart share: context, events, guards, actions and delays. The regions stand
 * beside this file; `server.ts` joins them.
 */

import { assertEvent, assign, enqueueActions, raise, sendParent, sendTo, setup } from 'xstate';
import { longestTimerMs } from '../../src/domain/clock.ts';
import type { Failure } from '../../src/domain/failure.ts';
import type { StormLimit } from '../../src/domain/policy.ts';
import { isRemote } from '../../src/domain/server-spec.ts';
import type { BlockedReason } from '../../src/domain/server-state.ts';
import type { SessionCommand, SessionEnd } from '../../src/domain/session.ts';
import { withEvidence } from '../../src/policies/failures/loss-evidence.ts';
import {
  hasAttemptsLeft,
  isBusyStart,
  isLostRemote,
  isRestartForbidden,
  sleepsAfterGivingUp,
} from '../../src/policies/failures/restart-decision.ts';
import { sessionMachine } from '../session/session.ts';
import {
  afterEnd,
  afterExchange,
  hangOf,
  impairedBy,
  isBeyondRetry,
  isCrashLooping,
  isReconnectStorm,
  isStored,
  isStorming,
  mayShowStored,
  newSession,
  quietWait,
  reachesThreshold,
  reconnectWait,
  type ServerContext,
  type ServerEvent,
  type ServerInput,
  type TripParams,
  wokenWait,
} from './context.ts';

export type {
  CallFact,
  ServerCommand,
  ServerContext,
  ServerEvent,
  ServerInput,
} from './context.ts';

/** A budget that nothing was taken from, and a start that is none after a loss. */
const freshTries = { attempt: 0, waits: 0, quietWaits: 0 } as const;
const freshBudget = { ...freshTries, hasServed: false, floods: 0 } as const;

const freshWindows = { crashTimes: [], lossTimes: [] };

/** A caller waits for the server to run. */
const wanted = { demanded: true, awaited: true, loss: null } as const;

// A minute of service, and the last failure is no news any more, whatever the budget.
const calmMs = 60_000;

/** What the root is told of which only this actor matters. */
function newsOf<Type extends string>(type: Type) {
  return ({ context }: { readonly context: ServerContext }) => ({
    type,
    actorId: context.actorId,
  });
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
    // Wishes: what a command changes, wherever the server happens to be.
    wishStart: assign({ stopWanted: false, ...wanted, ...freshBudget }),
    /** It rests until it is started again. */
    wishStop: assign({ stopWanted: true, demanded: false, awaited: false, loss: null }),
    /** It starts again, with every budget whole. */
    wishRestart: assign({ stopWanted: false, ...wanted, ...freshBudget, ...freshWindows }),
    /** It is to run, with the budgets as they are. */
    wishReconnect: assign(wanted),
    /** It is to end, for good. */
    wishRetire: assign({ retiring: true }),
    /** A caller waits for it. */
    noteDemand: assign({ demanded: true, awaited: true }),
    // An idle server was well: its next start is not a retry.
    restWhenIdle: assign({ demanded: false, ...freshBudget }),
    // Given up until it is demanded: the next demand begins a start of its own.
    restUntilDemanded: assign({ demanded: false, awaited: false, loss: null, ...freshBudget }),
    // A session that is exchanged on request has not failed.
    takeTryBack: assign(({ context }) => ({ attempt: Math.max(0, context.attempt - 1) })),
    /** It was ready: what goes wrong from now on is an outage. */
    noteServed: assign(({ context }) => ({
      awaited: false,
      hasServed: true,
      ...(context.policy.restart.budgetReset === 'immediate' ? freshTries : {}),
    })),
    /** It may run. */
    noteAdmitted: assign({ verdict: 'admitted' }),
    /** It may not run any more; a later start is a fresh one. */
    noteWithdrawn: assign(({ event }) => {
      assertEvent(event, 'admission.withdrawn');
      return { verdict: event.verdict, loss: null, ...freshBudget };
    }),
    /** Takes over what of its settings counts without a new session. */
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
    beginSession: assign(({ context }) => newSession(context)),
    /** The handshake is done: which era it speaks, and its process. */
    noteOpened: assign(({ event }) => {
      assertEvent(event, 'session.opened');
      return { era: event.era, pid: event.pid ?? null };
    }),
    /** There is no session: what was known of the other side counts no more. */
    forgetPeer: assign({ era: null, pid: null, impairments: [] }),
    /** Notes one thing that is amiss. */
    noteImpaired: assign(({ event, context }) => {
      assertEvent(event, 'session.impaired');
      return impairedBy(context, event);
    }),
    /** Takes one thing back that was amiss. */
    noteRecovered: assign(({ event, context }) => {
      assertEvent(event, 'session.recovered');
      return { impairments: context.impairments.filter((reason) => reason !== event.reason) };
    }),

    // A failure while the machine slept is not counted against the server.
    drawWakeDelay: assign(({ event, context }) => {
      assertEvent(event, 'server.woke');
      return wokenWait(context, event.spreadMs);
    }),
    // The windows have said what they had to say: the next life is counted afresh.
    forgetWindows: assign({ ...freshWindows, floods: 0 }),
    /** It ran for long enough: the next outage has the whole budget. */
    forgetAttempts: assign({ ...freshTries, lastError: null, floods: 0 }),
    /** Asks the root for a permit to start. */
    askForSlot: sendParent(({ context }) => ({
      type: 'slot.requested' as const,
      actorId: context.actorId,
      pool: isRemote(context.transport) ? ('remote' as const) : ('local' as const),
      demanded: context.awaited,
      retry: context.attempt > 1 || context.hasServed,
    })),
    /** Tells the root that it serves. */
    reportReady: sendParent(newsOf('server.readied')),
    /** Tells the root that it serves no more. */
    reportFalter: sendParent(newsOf('server.faltered')),
    // How it starts the root knows: thousands may be blocked from the beginning.
    reportHalt: enqueueActions(({ context: { succeeds, actorId }, event, enqueue }) => {
      const isStart = (event as { type: string }).type === 'xstate.init';
      if (succeeds || !isStart) enqueue.sendParent({ type: 'server.halted' as const, actorId });
    }),
    /** Tells the root that it goes on. */
    reportResumption: sendParent(newsOf('server.resumed')),
    // Thousands of servers may be dormant; only of a successor does the root need to know.
    reportGivingUp: enqueueActions(({ context: { succeeds, actorId }, enqueue }) => {
      if (succeeds) enqueue.sendParent({ type: 'successor.gaveUp' as const, actorId });
    }),
    /** Gives the permit back, or leaves the line; nothing happens without either. */
    returnSlot: sendParent(newsOf('slot.returned')),
    /** Asks for the tools: the probe of the circuit. */
    tellSessionToList: sendTo('session', { type: 'session.list' }),
    /** Ends the session in an orderly way, within its own deadlines. */
    tellSessionToClose: sendTo('session', { type: 'session.close' }),
    /** The server stopped answering health checks: the session is lost. */
    giveSessionUp: sendTo('session', ({ event }): SessionCommand => {
      assertEvent(event, 'server.hung');
      return { type: 'session.giveUp', failure: hangOf(event.failedLooks) };
    }),
    /** The session follows the new numbers. */
    passOnPolicy: sendTo(
      'session',
      ({ context }): SessionCommand => ({ type: 'policy.updated', policy: context.policy }),
    ),
    /** The machine slept: the session checks its connection. */
    passOnWake: sendTo('session', ({ event }): SessionCommand => {
      assertEvent(event, 'server.woke');
      return event;
    }),

    // How the session ended.
    recordEnd: assign(({ context }, end: SessionEnd) => afterEnd(context, end)),
    /** Adds what the end of the session shows to the reason why it was closed, if it is a loss. */
    recordEvidence: assign(({ context }, end: SessionEnd) => {
      if (context.loss === null) return {};
      const loss = withEvidence(context.loss, end);
      return { loss, lastError: loss };
    }),
    // Waiting in our own queue says nothing about the server: the try is taken back.
    recordQueueDeadline: assign(({ context }) => {
      const loss: Failure = {
        kind: 'notStarted',
        message: 'No start permit came free in time; it will be tried again.',
      };
      return { loss, lastError: loss, attempt: context.attempt - 1 };
    }),
    // An exchange is not waited for, so this count alone bounds how fast they follow each other.
    recordExchange: assign(({ event, context }) => {
      assertEvent(event, 'breaker.tripped');
      return afterExchange(context, event.at);
    }),
    /** Notes that the session itself broke, which is a fault of ours. */
    recordBrokenSession: assign(({ context }) => {
      const loss: Failure = { kind: 'unknown', message: 'The session broke; please report it.' };
      // Nothing is lost when it broke while closing for a rest or a stop.
      return { loss: context.demanded ? loss : null, lastError: loss };
    }),
    /** Notes why the tools could not be listed. */
    recordFailedList: assign(({ event }) => {
      assertEvent(event, 'session.listFailed');
      return { lastError: event.failure };
    }),
    /** Draws the wait before the next try, with jitter. */
    drawReconnectDelay: assign(({ context }) => reconnectWait(context)),
    /** Draws the long wait of a remote server that was given up. */
    drawLostDelay: assign(({ context }) => quietWait(context)),

    // Word from one region to the others.
    announceListing: raise({ type: 'server.listed' }),
    /** Tells the other regions that nobody has called for long. */
    announceIdle: raise({ type: 'server.idled' }),
    /** Tells the other regions that its last call is done, and its successor serves. */
    announceRelief: raise({ type: 'server.relieved' }),
    /** Reports to the other regions that it serves no more. */
    announceFalter: raise({ type: 'server.faltered' }),
    /** Reports to the other regions that it hangs. */
    announceHang: raise(({ event }) => {
      assertEvent(event, 'session.silent');
      return { type: 'server.hung' as const, failedLooks: event.failedLooks };
    }),
    /** Tells the other regions that it was given up. */
    announceGivingUp: raise({ type: 'server.gaveUp' }),
    /** Tells the other regions that it rests. */
    announceRest: raise({ type: 'server.rested' }),
    /** Tells the other regions that it ends. */
    announceEnd: raise({ type: 'server.ended' }),
    /** The circuit wants to know whether it is well again. */
    askForProbe: raise({ type: 'probe.wanted' }),
    /** Tells the circuit that the look it wanted has begun. */
    announceProbe: raise({ type: 'probe.began' }),
    /** Tells the other regions that too many calls failed. */
    announceTrip: raise(({ event }) => {
      assertEvent(event, 'call.failed');
      return { type: 'breaker.tripped' as const, at: event.at };
    }),

    // Catalog and circuit.
    rememberCatalog: assign({ hasStoredCatalog: true }),
    /** The list from before is gone. */
    forgetCatalog: assign({ hasStoredCatalog: false }),
    /** Tells the root that the list of this generation is known. */
    reportCatalog: sendParent(({ context }) => ({
      type: 'catalog.listed' as const,
      server: context.name,
      generation: context.generation,
    })),
    /** One more call in a row failed. */
    countFailedCall: assign(({ context }) => ({ failedCalls: context.failedCalls + 1 })),
    /** A call succeeded: the count begins anew. */
    forgetFailedCalls: assign({ failedCalls: 0 }),
    /** The first cool-down is as long as the policy says. */
    startCooldown: assign(({ context }) => ({
      cooldownMs: context.policy.breaker.cooldownMs,
      failedCalls: 0,
    })),
    /** The look failed: the next cool-down is twice as long, within the bound. */
    lengthenCooldown: assign(({ context }) => ({
      cooldownMs: Math.min(context.cooldownMs * 2, context.policy.breaker.maxCooldownMs),
    })),
  },
  guards: {
    /** The root wants this actor gone. */
    isRetiring: ({ context }) => context.retiring,
    /** The settings switch it off. */
    isDisabled: ({ context }) => context.verdict === 'disabled',
    /** The settings, a list or a person's decision keep it from running. */
    isBlocked: ({ context: { verdict } }) => verdict !== 'admitted' && verdict !== 'disabled',
    /** This is what keeps it from running. */
    isBlockedBy: ({ context }, params: { readonly reason: BlockedReason }) =>
      context.verdict === params.reason,
    /** A person stopped it, and nobody has asked for it since. */
    isStopWanted: ({ context }) => context.stopWanted,
    /** Its session ended by a failure of this kind. */
    hasLost: ({ context }, params: { readonly kind: Failure['kind'] }) =>
      context.loss?.kind === params.kind,
    /** One of the two limits of lost sessions is reached, and the policy answers so. */
    isStorming: ({ context }, params: Pick<StormLimit, 'action'>) =>
      isStorming(context, params.action),
    /** Too many sessions that served ended by a crash, and the policy answers so. */
    isCrashLooping: ({ context }, params: Pick<StormLimit, 'action'>) =>
      isCrashLooping(context, params.action),
    /** Too many sessions that served were lost, and the policy answers so, or too many ended in a flood. */
    isReconnectStorm: ({ context }, params: Pick<StormLimit, 'action'>) =>
      isReconnectStorm(context, params.action),
    /** No further try would help, or the policy fails a server that storms. */
    isBeyondRetry: ({ context }) => isBeyondRetry(context),
    /** Its start was answered with "come back later", and the policy has waits of its own for that. */
    isBusyStart: ({ context }) => isBusyStart(context),
    /** The tries are used up, and the policy lets it sleep until a caller needs it. */
    sleepsAfterGivingUp: ({ context }) => sleepsAfterGivingUp(context),
    /** The policy does not restart a server that ended like this. */
    isRestartForbidden: ({ context }) => isRestartForbidden(context),
    /** It is tried again after a wait: by its budget, or quietly after that. */
    isTriedAgain: ({ context }) => hasAttemptsLeft(context) || isLostRemote(context),
    /** The budget of the start or outage has one more try. */
    hasAttemptsLeft: ({ context }) => hasAttemptsLeft(context),
    /** The tries are used up, but a remote server is retried quietly, for ever. */
    isLostRemote: ({ context }) => isLostRemote(context),
    /** A session ended by a failure that nothing has answered yet. */
    isLost: ({ context }) => context.loss !== null,
    /** It is not demanded now. */
    isUndemanded: ({ context }) => !context.demanded,
    /** The news is of the present session, not of one before it. */
    isCurrentSession: ({ context }, params: { readonly session: number }) =>
      params.session === context.session,
    /** The policy stops servers that nobody calls. */
    stopsWhenIdle: ({ context }) => context.policy.idle.stopMs !== null,
    /** Enough health checks in a row failed. */
    hasHung: ({ context }, { failedLooks }: { readonly failedLooks: number }) =>
      failedLooks >= context.policy.health.failures,
    /** No successor has replaced it. */
    isToStay: ({ context }) => !context.retiring,
    // A server that named its own wait keeps it.
    isNotAskedToWait: ({ context }) => context.loss?.retryAfterMs === undefined,
    // Without a threshold nothing is counted, and nothing ever trips.
    countsCalls: ({ context }, params: { readonly session: number }) =>
      params.session === context.session && context.policy.breaker.threshold !== null,
    /** One more failed call is as many as the policy allows, and it answers so. */
    reachesThreshold: ({ context }, params: TripParams) => reachesThreshold(context, params),
    /** Tools of a lost server stay in the list. */
    keepsStale: ({ context }) => context.policy.catalog.whileDown === 'keepStale',
    /** Tools of a lost server stay, marked as deferred, as they were stored. */
    defersWhileDown: ({ context }) =>
      context.policy.catalog.whileDown === 'deferred' && isStored(context),
    /** A list from before may be shown instead of a live one. */
    mayShowStored: ({ context }) => mayShowStored(context),
    // These two look at a server that is about to be admitted or started.
    mayShowStoredOnceAdmitted: ({ context }) =>
      isStored(context) && !context.stopWanted && !context.retiring,
    /** A list from before may be shown as soon as it is started. */
    mayShowStoredOnceStarted: ({ context }) =>
      isStored(context) && context.verdict === 'admitted' && !context.retiring,
  },
  delays: {
    /** How long it waits for a permit. */
    queueDeadline: ({ context }) => context.policy.connect.queueTimeoutMs,
    /** The wait that was drawn when it began. */
    reconnectBackoff: ({ context }) => context.delayMs,
    /** How long it must serve for its budget to be whole again. */
    sustainedReady: ({ context: { policy } }) =>
      policy.restart.budgetReset === 'immediate' ? calmMs : policy.restart.budgetReset.sustainedMs,
    // Without one, the longest wait a timer can hold; the guard then lets it pass.
    idleDeadline: ({ context }) => context.policy.idle.stopMs ?? longestTimerMs,
    // As long as a call may take by the same settings; a call that asked for more is cut off.
    drainDeadline: ({ context }) => context.policy.call.timeoutMs,
    /** How long no call goes out. */
    circuitCooldown: ({ context }) => context.cooldownMs,
    /** How long the look of a half-open circuit may take. */
    probeDeadline: ({ context }) => context.policy.breaker.probeTimeoutMs,
  },
});

/** Maps a fact to the parameter of the guards that ask which session it is about. */
export function ofSession({ event }: { readonly event: { readonly session: number } }): {
  readonly session: number;
} {
  return { session: event.session };
}

/** Where every loss and every wish is decided. */
export const settle = '#connection.settling';
