/**
 * The words, facts and small decisions that the three regions of the server
 * chart share: context, events, guards, actions and delays. The regions stand
 * beside this file; `server.ts` joins them.
 */

import {
  assertEvent,
  assign,
  enqueueActions,
  fromCallback,
  raise,
  sendParent,
  sendTo,
  setup,
} from 'xstate';
import { longestTimerMs } from '../../src/domain/clock.ts';
import type { Failure } from '../../src/domain/failure.ts';
import type { BreakerPolicy, ServerPolicy, StormLimit } from '../../src/domain/policy.ts';
import { isRemote } from '../../src/domain/server-spec.ts';
import type { BlockedReason, Verdict } from '../../src/domain/server-state.ts';
import type { SessionCommand, SessionFact, SessionInput } from '../../src/domain/session.ts';
import { wakeDelay } from '../../src/policies/backoff.ts';
import { chanceOf } from '../../src/policies/chance.ts';
import { lossOf, withEvidence } from '../../src/policies/failures/loss-evidence.ts';
import {
  hasAttemptsLeft,
  isBusyStart,
  isLostRemote,
  isRestartForbidden,
  sleepsAfterGivingUp,
} from '../../src/policies/failures/restart-decision.ts';
import { recordInWindow } from '../../src/policies/window-limit.ts';
import {
  afterExchange,
  afterFailedLook,
  afterFlood,
  afterLoss,
  connectTimeoutOf,
  floodLimitMs,
  hangOf,
  hasHung,
  isBeyondRetry,
  isCrashLooping,
  isReconnectStorm,
  isStored,
  isStorming,
  lookTimeoutOf,
  mayShowStored,
  quietWait,
  reconnectWait,
  type ServerContext,
  type ServerInput,
} from './context.ts';

export type { ServerContext, ServerInput } from './context.ts';

/** Commands of the root and of the call path. */
export type ServerCommand =
  | { readonly type: 'server.start' }
  | { readonly type: 'server.stop' }
  | { readonly type: 'server.restart' }
  | { readonly type: 'server.reconnect' }
  | { readonly type: 'server.retire' }
  /** Its successor has taken over: it leaves as soon as its calls are done. */
  | { readonly type: 'server.relieve' }
  | { readonly type: 'server.demanded' }
  | { readonly type: 'admission.granted' }
  | { readonly type: 'admission.withdrawn'; readonly verdict: Exclude<Verdict, 'admitted'> }
  | {
      readonly type: 'spec.updated';
      readonly startup: 'eager' | 'lazy';
      readonly policy: ServerPolicy;
    }
  | { readonly type: 'slot.granted' }
  /** The list that is known from before is not kept any longer. */
  | { readonly type: 'catalog.forgotten' }
  /** The machine slept, or this process was held; all are told, and none should act at once. */
  | { readonly type: 'server.woke'; readonly spreadMs: number };

/** Edges of the call path; `session` tells which session they are about. */
export type CallFact =
  | {
      readonly type: 'calls.began' | 'calls.drained' | 'call.succeeded';
      readonly session: number;
    }
  /** `at` is monotonic, in milliseconds. */
  | { readonly type: 'call.failed'; readonly session: number; readonly at: number };

/** What one region tells the others. Never sent from outside. */
type InternalEvent =
  | { readonly type: 'server.listed' }
  | { readonly type: 'server.idled' }
  | { readonly type: 'server.relieved' }
  | { readonly type: 'look.failed' }
  | { readonly type: 'server.hung' }
  | { readonly type: 'server.flooded' }
  | { readonly type: 'server.gaveUp' }
  | { readonly type: 'server.rested' }
  | { readonly type: 'server.ended' }
  | { readonly type: 'session.abandoned' }
  | { readonly type: 'probe.wanted' }
  | { readonly type: 'probe.began' }
  | { readonly type: 'breaker.tripped'; readonly at: number };

export type ServerEvent = ServerCommand | CallFact | SessionFact | InternalEvent;

/** A budget that nothing was taken from, and a start that is none after a loss. */
const freshTries = { attempt: 0, waits: 0, quietWaits: 0 } as const;
const freshBudget = { ...freshTries, hasServed: false, floods: 0 } as const;

/** A caller waits for the server to run. */
const wanted = { demanded: true, awaited: true, loss: null } as const;

// SIGKILL takes milliseconds, and a session waits a quarter of a second for it to take effect; twice that.
const killMs = 500;
// A minute of service, and the last failure is no news any more, whatever the budget.
const calmMs = 60_000;

/** What the root is told of which only this actor matters. */
function newsOf<Type extends string>(type: Type) {
  return ({ context }: { readonly context: ServerContext }) => ({
    type,
    actorId: context.actorId,
  });
}

function notProvided(): never {
  throw new Error('actor "session" was not provided to the server chart');
}

export const serverSetup = setup({
  types: {
    input: {} as ServerInput,
    context: {} as ServerContext,
    events: {} as ServerEvent,
    tags: {} as 'usable' | 'busy' | 'needsUser' | 'waits' | 'atRest',
  },
  actors: { session: fromCallback<SessionCommand, SessionInput>(notProvided) },
  actions: {
    // Wishes: what a command changes, wherever the server happens to be.
    wishStart: assign({ stopWanted: false, ...wanted, ...freshBudget }),
    /** It is to rest until somebody asks for it. */
    wishStop: assign({ stopWanted: true, demanded: false, awaited: false, loss: null }),
    /** It is to run anew, with every budget whole. */
    wishRestart: assign({
      stopWanted: false,
      ...wanted,
      ...freshBudget,
      crashTimes: [],
      lossTimes: [],
    }),
    /** It is to run, with the budgets as they are. */
    wishReconnect: assign(wanted),
    /** It is to end, for good. */
    wishRetire: assign({ retiring: true }),
    /** Somebody waits for it. */
    noteDemand: assign({ demanded: true, awaited: true }),
    // Whoever rests by agreement was well: the next start is no retry.
    restWhenIdle: assign({ demanded: false, ...freshBudget }),
    // Given up, but not for good: whoever needs it next begins a start of its own.
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
    beginSession: assign(({ context }) => ({
      session: context.session + 1,
      attempt: context.attempt + 1,
      loss: null,
      impairments: [],
      failedLooks: 0,
      era: null,
      pid: null,
    })),
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
      const others = context.impairments.filter((reason) => reason !== event.reason);
      return {
        impairments: [...others, event.reason],
        ...(event.failure === undefined ? {} : { lastError: event.failure }),
      };
    }),
    /** Takes one thing back that was amiss. */
    noteRecovered: assign(({ event, context }) => {
      assertEvent(event, 'session.recovered');
      return { impairments: context.impairments.filter((reason) => reason !== event.reason) };
    }),

    // Whether it lives.
    noteAlive: assign(({ context }) => ({
      failedLooks: 0,
      impairments: context.impairments.filter((reason) => reason !== 'healthCheck'),
    })),
    /** One more look in a row found nobody. */
    noteFailedLook: assign(({ context }, params: { readonly failure?: Failure | undefined }) =>
      afterFailedLook(context, params.failure),
    ),
    /** It does not answer any more: the session is lost. */
    recordHang: assign(({ context }) => ({ loss: hangOf(context), lastError: hangOf(context) })),
    /** It sent too much for too long: the session is lost and the flood is counted. */
    recordFlood: assign(({ context }) => afterFlood(context)),
    /** The machine slept; how far apart all servers are looked after now. */
    noteWake: assign(({ event }) => {
      assertEvent(event, 'server.woke');
      return { wakeSpreadMs: event.spreadMs };
    }),
    // What the network did while nobody was awake is not counted against the server.
    drawWakeDelay: assign(({ event, context }) => {
      assertEvent(event, 'server.woke');
      return {
        delayMs: wakeDelay(event.spreadMs, chanceOf(context.seed, context.session)),
        attempt: Math.max(0, context.attempt - 1),
      };
    }),
    /** Asks the server whether it is alive. */
    tellSessionToProbe: sendTo('session', { type: 'session.probe' }),

    // The windows have said what they had to say: the next life is counted afresh.
    forgetWindows: assign({ crashTimes: [], lossTimes: [], floods: 0 }),
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
    /** Tells the root that it goes no further before a person acts. */
    reportHalt: sendParent(newsOf('server.halted')),
    /** Tells the root that it goes on. */
    reportResumption: sendParent(newsOf('server.resumed')),
    // Thousands of servers may be dormant; only of a successor does the root need to know.
    reportGivingUp: enqueueActions(({ context: { succeeds, actorId }, enqueue }) => {
      if (succeeds) enqueue.sendParent({ type: 'successor.gaveUp' as const, actorId });
    }),
    /** Gives the permit back, or leaves the line; nothing happens without either. */
    returnSlot: sendParent(newsOf('slot.returned')),
    /** Starts the process or connection, and shakes hands. */
    tellSessionToOpen: sendTo('session', { type: 'session.open' }),
    /** Asks for tools, prompts and resources. */
    tellSessionToList: sendTo('session', { type: 'session.list' }),
    /** Ends the session in steps: input closed, asked, killed. */
    tellSessionToClose: sendTo('session', { type: 'session.close' }),
    /** Ends the session by force, because the orderly end took too long. */
    tellSessionToKill: sendTo('session', { type: 'session.kill' }),

    // What became of it.
    // A server that was never started has not failed: the attempt does not count, and only the waits grow.
    recordFailedStart: assign(({ event, context }) => {
      assertEvent(event, ['session.closed', 'session.listFailed']);
      const loss = lossOf(event);
      const attempt = Math.max(0, context.attempt - (loss.kind === 'notStarted' ? 1 : 0));
      return { loss, lastError: loss, attempt };
    }),
    /** Notes why the session ended, and counts it. */
    recordLostSession: assign(({ event, context }) => {
      assertEvent(event, 'session.closed');
      return afterLoss(context, lossOf(event), event.at);
    }),
    /** Notes that a step of the start took too long. */
    recordDeadline: assign((_, params: { readonly message: string }) => {
      const loss: Failure = { kind: 'initTimeout', message: params.message };
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
    /** Adds what the end of the process tells to why it was lost. */
    recordEvidence: assign(({ event, context }) => {
      assertEvent(event, 'session.closed');
      // Whom a person's wish closed has lost nothing that wants an explanation.
      if (context.loss === null) return {};
      const loss = withEvidence(context.loss, event);
      const { lossTimes, policy } = context;
      return {
        loss,
        lastError: loss,
        // Given up while it was ready: that is a lost session like any other.
        ...(hasHung(context) && {
          lossTimes: recordInWindow(lossTimes, event.at, policy.storm.reconnectStorm),
        }),
      };
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
    /** Tells the other regions that a look found nobody. */
    announceFailedLook: raise({ type: 'look.failed' }),
    /** Tells the other regions that it hangs. */
    announceHang: raise({ type: 'server.hung' }),
    /** Tells the other regions that it was over its input budget for too long. */
    announceFlood: raise({ type: 'server.flooded' }),
    /** Tells the other regions that it was given up. */
    announceGivingUp: raise({ type: 'server.gaveUp' }),
    /** Tells the other regions that it rests. */
    announceRest: raise({ type: 'server.rested' }),
    /** Tells the other regions that it ends. */
    announceEnd: raise({ type: 'server.ended' }),
    /** Tells the other regions that the session is let go. */
    announceAbandoned: raise({ type: 'session.abandoned' }),
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
    /** Nobody wants it to run now. */
    isUndemanded: ({ context }) => !context.demanded,
    /** The news is of the present session, not of one before it. */
    isCurrentSession: ({ context }, params: { readonly session: number }) =>
      params.session === context.session,
    /** The policy stops servers that nobody calls. */
    stopsWhenIdle: ({ context }) => context.policy.idle.stopMs !== null,
    /** The policy asks it now and then whether it is alive. */
    isWatched: ({ context }) => context.policy.health.mode === 'ping',
    /** The answer shows that somebody is there. */
    isSignOfLife: ({ context }, params: ProbeAnswer) =>
      params.session === context.session &&
      (params.answer === 'alive' ||
        (params.answer === 'unknownMethod' && context.policy.health.treatMethodNotFoundAsAlive)),
    /** Enough looks in a row found nobody. */
    hasHung: ({ context }) => hasHung(context),
    // Who was told by the server how long to wait goes on waiting.
    isNotAskedToWait: ({ context }) => context.loss?.retryAfterMs === undefined,
    /** Something about the session is not as it should be. */
    isImpaired: ({ context }) => context.impairments.length > 0,
    /** Nothing about the session is amiss. */
    isUnimpaired: ({ context }) => context.impairments.length === 0,
    // Without a threshold nothing is counted, and nothing ever trips.
    countsCalls: ({ context }, params: { readonly session: number }) =>
      params.session === context.session && context.policy.breaker.threshold !== null,
    /** One more failed call is as many as the policy allows, and it answers so. */
    reachesThreshold: (
      { context },
      params: { readonly session: number; readonly action: BreakerPolicy['action'] },
    ) => {
      const { threshold, action } = context.policy.breaker;
      if (params.session !== context.session || params.action !== action) return false;
      return threshold !== null && context.failedCalls + 1 >= threshold;
    },
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
    /** A list from before may be shown as soon as somebody starts it. */
    mayShowStoredOnceStarted: ({ context }) =>
      isStored(context) && context.verdict === 'admitted' && !context.retiring,
  },
  delays: {
    /** How long it waits for a permit. */
    queueDeadline: ({ context }) => context.policy.connect.queueTimeoutMs,
    /** How long a handshake may take; for some transports for ever. */
    connectDeadline: ({ context }) => connectTimeoutOf(context) ?? longestTimerMs,
    /** How long listing may take. */
    listDeadline: ({ context }) => context.policy.connect.listTimeoutMs,
    /** How long an orderly end may take before it is forced. */
    closeDeadline: ({ context }) => context.policy.close.totalMs,
    /** How long an end may take, the forced one included. */
    killDeadline: ({ context }) => context.policy.close.totalMs + killMs,
    /** The wait that was drawn when it began. */
    reconnectBackoff: ({ context }) => context.delayMs,
    /** How long it must serve for its budget to be whole again. */
    sustainedReady: ({ context: { policy } }) =>
      policy.restart.budgetReset === 'immediate' ? calmMs : policy.restart.budgetReset.sustainedMs,
    // Without one, the longest wait a timer can hold; the guard then lets it pass.
    idleDeadline: ({ context }) => context.policy.idle.stopMs ?? longestTimerMs,
    // As long as a call may take by the same settings: whoever asked for more is cut off.
    drainDeadline: ({ context }) => context.policy.call.timeoutMs,
    /** Between two looks. */
    lookPause: ({ context }) => context.policy.health.everyMs,
    /** How long it has to answer a look. */
    lookDeadline: ({ context }) => lookTimeoutOf(context.policy),
    /** After the machine woke, each server has its own moment to be looked after. */
    wakePause: ({ context: { wakeSpreadMs, seed, session } }) =>
      wakeDelay(wakeSpreadMs, chanceOf(seed, session)),
    // Five seconds, when it woke: a dead connection should be back within half a minute.
    wokenLookDeadline: ({ context }) => Math.min(5_000, lookTimeoutOf(context.policy)),
    // Two seconds: networks come back one or two seconds after the machine, and some servers too.
    doubtPause: 2_000,
    // Half a minute, as long as a list may take: a server that cannot list is not asked harder.
    relistPause: 30_000,
    // Ten seconds: longer than the burst of a verbose start, short enough to limit the load.
    floodDeadline: floodLimitMs,
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

type ProbeAnswer = Pick<Extract<SessionFact, { type: 'session.probed' }>, 'session' | 'answer'>;

/** Maps the news of a probe to the parameter of the guard that asks whether somebody lives there. */
export function ofProbe({ event }: { readonly event: ProbeAnswer }): ProbeAnswer {
  return { session: event.session, answer: event.answer };
}

/** Where every loss and every wish is decided. */
export const settle = '#connection.settling';
