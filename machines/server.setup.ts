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
import { longestTimerMs } from '../src/domain/clock.ts';
import type { Failure } from '../src/domain/failure.ts';
import type {
  BreakerPolicy,
  QuietRetries,
  ServerPolicy,
  StormLimit,
} from '../src/domain/policy.ts';
import { isRemote } from '../src/domain/server-spec.ts';
import type { BlockedReason, Verdict } from '../src/domain/server-state.ts';
import type { SessionCommand, SessionFact, SessionInput } from '../src/domain/session.ts';
import { busyDelay, quietDelay, restartDelay, wakeDelay } from '../src/policies/backoff-delay.ts';
import { chanceOf } from '../src/policies/chance.ts';
import { lossOf, withEvidence } from '../src/policies/loss-evidence.ts';
import {
  afterGiveUpOf,
  busyBackoffOf,
  hasAttemptsLeft,
  isRestartForbidden,
} from '../src/policies/restart-decision.ts';
import { recordInWindow } from '../src/policies/window-limit.ts';
import {
  afterExchange,
  afterFailedLook,
  afterLoss,
  connectTimeoutOf,
  hangOf,
  hasHung,
  honourRetryAfter,
  isStored,
  lookTimeoutOf,
  mayShowStored,
  type ServerContext,
  type ServerInput,
  trips,
} from './server.context.ts';

export type { ServerContext, ServerInput } from './server.context.ts';

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
const freshBudget = { ...freshTries, hasServed: false } as const;

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
    wishStart: assign({
      stopWanted: false,
      demanded: true,
      awaited: true,
      loss: null,
      ...freshBudget,
    }),
    wishStop: assign({ stopWanted: true, demanded: false, awaited: false, loss: null }),
    wishRestart: assign({
      stopWanted: false,
      demanded: true,
      awaited: true,
      loss: null,
      ...freshBudget,
      crashTimes: [],
      lossTimes: [],
    }),
    wishReconnect: assign({ demanded: true, awaited: true, loss: null }),
    wishRetire: assign({ retiring: true }),
    noteDemand: assign({ demanded: true, awaited: true }),
    // Whoever rests by agreement was well: the next start is no retry.
    restWhenIdle: assign({ demanded: false, ...freshBudget }),
    // Given up, but not for good: whoever needs it next begins a start of its own.
    restUntilDemanded: assign({ demanded: false, awaited: false, loss: null, ...freshBudget }),
    // A session that is exchanged on request has not failed.
    takeTryBack: assign(({ context }) => ({ attempt: Math.max(0, context.attempt - 1) })),
    noteServed: assign(({ context }) => ({
      awaited: false,
      hasServed: true,
      ...(context.policy.restart.budgetReset === 'immediate' ? freshTries : {}),
    })),
    noteAdmitted: assign({ verdict: 'admitted' }),
    noteWithdrawn: assign(({ event }) => {
      assertEvent(event, 'admission.withdrawn');
      return { verdict: event.verdict, loss: null, ...freshBudget };
    }),
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
    noteOpened: assign(({ event }) => {
      assertEvent(event, 'session.opened');
      return { era: event.era, pid: event.pid ?? null };
    }),
    forgetPeer: assign({ era: null, pid: null, impairments: [] }),
    noteImpaired: assign(({ event, context }) => {
      assertEvent(event, 'session.impaired');
      const others = context.impairments.filter((reason) => reason !== event.reason);
      return {
        impairments: [...others, event.reason],
        ...(event.failure === undefined ? {} : { lastError: event.failure }),
      };
    }),
    noteRecovered: assign(({ event, context }) => {
      assertEvent(event, 'session.recovered');
      return { impairments: context.impairments.filter((reason) => reason !== event.reason) };
    }),

    // Whether it lives.
    noteAlive: assign(({ context }) => ({
      failedLooks: 0,
      impairments: context.impairments.filter((reason) => reason !== 'healthCheck'),
    })),
    noteFailedLook: assign(({ context }, params: { readonly failure?: Failure | undefined }) =>
      afterFailedLook(context, params.failure),
    ),
    recordHang: assign(({ context }) => ({ loss: hangOf(context), lastError: hangOf(context) })),
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
    tellSessionToProbe: sendTo('session', { type: 'session.probe' }),

    // The windows have said what they had to say: the next life is counted afresh.
    forgetWindows: assign({ crashTimes: [], lossTimes: [] }),
    forgetAttempts: assign({ ...freshTries, lastError: null }),
    askForSlot: sendParent(({ context }) => ({
      type: 'slot.requested' as const,
      actorId: context.actorId,
      pool: isRemote(context.transport) ? ('remote' as const) : ('local' as const),
      demanded: context.awaited,
      retry: context.attempt > 1 || context.hasServed,
    })),
    keepSlot: sendParent(newsOf('slot.kept')),
    reportReady: sendParent(newsOf('server.readied')),
    reportFalter: sendParent(newsOf('server.faltered')),
    // Thousands may come to rest; only of a successor somebody wants to know.
    reportRest: enqueueActions(({ context: { succeeds, actorId }, enqueue }) => {
      if (succeeds) enqueue.sendParent({ type: 'successor.rested' as const, actorId });
    }),
    returnSlot: sendParent(newsOf('slot.returned')),
    tellSessionToOpen: sendTo('session', { type: 'session.open' }),
    tellSessionToList: sendTo('session', { type: 'session.list' }),
    tellSessionToClose: sendTo('session', { type: 'session.close' }),

    // What became of it.
    recordFailedStart: assign(({ event }) => {
      assertEvent(event, ['session.closed', 'session.listFailed']);
      return { loss: lossOf(event), lastError: lossOf(event) };
    }),
    recordLostSession: assign(({ event, context }) => {
      assertEvent(event, 'session.closed');
      return afterLoss(context, lossOf(event), event.at);
    }),
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
    recordBrokenSession: assign(({ context }) => {
      const loss: Failure = { kind: 'unknown', message: 'The session broke; please report it.' };
      // Nothing is lost when it broke while closing for a rest or a stop.
      return { loss: context.demanded ? loss : null, lastError: loss };
    }),
    recordFailedList: assign(({ event }) => {
      assertEvent(event, 'session.listFailed');
      return { lastError: event.failure };
    }),
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
    drawReconnectDelay: assign(({ context }) => {
      const busy = busyBackoffOf(context);
      const chance = chanceOf(context.seed, context.session);
      const waits = context.waits + 1;
      const delayMs =
        busy === null
          ? restartDelay(context.policy.restart, waits, chance)
          : busyDelay(busy, waits, chance);
      return { waits, delayMs: honourRetryAfter(delayMs, context) };
    }),
    drawLostDelay: assign(({ context }) => {
      // Only who has such a rule is let in.
      const rule = afterGiveUpOf(context) as QuietRetries;
      const chance = chanceOf(context.seed, context.session);
      const quietWaits = context.quietWaits + 1;
      const delayMs = quietDelay(rule, context.policy.restart.jitter, quietWaits, chance);
      return { quietWaits, delayMs: honourRetryAfter(delayMs, context) };
    }),

    // Word from one region to the others.
    announceListing: raise({ type: 'server.listed' }),
    announceIdle: raise({ type: 'server.idled' }),
    announceRelief: raise({ type: 'server.relieved' }),
    announceFailedLook: raise({ type: 'look.failed' }),
    announceHang: raise({ type: 'server.hung' }),
    announceGivingUp: raise({ type: 'server.gaveUp' }),
    announceRest: raise({ type: 'server.rested' }),
    announceEnd: raise({ type: 'server.ended' }),
    announceAbandoned: raise({ type: 'session.abandoned' }),
    askForProbe: raise({ type: 'probe.wanted' }),
    announceProbe: raise({ type: 'probe.began' }),
    announceTrip: raise(({ event }) => {
      assertEvent(event, 'call.failed');
      return { type: 'breaker.tripped' as const, at: event.at };
    }),

    // Catalog and circuit.
    rememberCatalog: assign({ hasStoredCatalog: true }),
    forgetCatalog: assign({ hasStoredCatalog: false }),
    reportCatalog: sendParent(({ context }) => ({
      type: 'catalog.listed' as const,
      server: context.name,
      generation: context.generation,
    })),
    countFailedCall: assign(({ context }) => ({ failedCalls: context.failedCalls + 1 })),
    forgetFailedCalls: assign({ failedCalls: 0 }),
    startCooldown: assign(({ context }) => ({
      cooldownMs: context.policy.breaker.cooldownMs,
      failedCalls: 0,
    })),
    lengthenCooldown: assign(({ context }) => ({
      cooldownMs: Math.min(context.cooldownMs * 2, context.policy.breaker.maxCooldownMs),
    })),
  },
  guards: {
    isRetiring: ({ context }) => context.retiring,
    isDisabled: ({ context }) => context.verdict === 'disabled',
    isBlockedBy: ({ context }, params: { readonly reason: BlockedReason }) =>
      context.verdict === params.reason,
    isStopWanted: ({ context }) => context.stopWanted,
    hasLost: ({ context }, params: { readonly kind: Failure['kind'] }) =>
      context.loss?.kind === params.kind,
    isCrashLooping: ({ context }, params: Pick<StormLimit, 'action'>) =>
      trips(context.crashTimes, context, context.policy.storm.crashLoop, params.action),
    isReconnectStorm: ({ context }, params: Pick<StormLimit, 'action'>) =>
      trips(context.lossTimes, context, context.policy.storm.reconnectStorm, params.action),
    // Whoever sleeps when given up has to wait as well: a demand must not ask at once again.
    isBusyStart: ({ context }) =>
      busyBackoffOf(context) !== null &&
      (!isRestartForbidden(context) || afterGiveUpOf(context) === 'untilDemanded'),
    sleepsAfterGivingUp: ({ context }) =>
      context.loss !== null &&
      afterGiveUpOf(context) === 'untilDemanded' &&
      (isRestartForbidden(context) || !hasAttemptsLeft(context)),
    isRestartForbidden: ({ context }) => isRestartForbidden(context),
    hasAttemptsLeft: ({ context }) => hasAttemptsLeft(context),
    isLostRemote: ({ context }) =>
      context.loss !== null &&
      isRemote(context.transport) &&
      typeof afterGiveUpOf(context) === 'object',
    isLost: ({ context }) => context.loss !== null,
    isUndemanded: ({ context }) => !context.demanded,
    isCurrentSession: ({ context }, params: { readonly session: number }) =>
      params.session === context.session,
    stopsWhenIdle: ({ context }) => context.policy.idle.stopMs !== null,
    isWatched: ({ context }) => context.policy.health.mode === 'ping',
    isSignOfLife: ({ context }, params: ProbeAnswer) =>
      params.session === context.session &&
      (params.answer === 'alive' ||
        (params.answer === 'unknownMethod' && context.policy.health.treatMethodNotFoundAsAlive)),
    hasHung: ({ context }) => hasHung(context),
    // Who was told by the server how long to wait goes on waiting.
    isNotAskedToWait: ({ context }) => context.loss?.retryAfterMs === undefined,
    isImpaired: ({ context }) => context.impairments.length > 0,
    isUnimpaired: ({ context }) => context.impairments.length === 0,
    // Without a threshold nothing is counted, and nothing ever trips.
    countsCalls: ({ context }, params: { readonly session: number }) =>
      params.session === context.session && context.policy.breaker.threshold !== null,
    reachesThreshold: (
      { context },
      params: { readonly session: number; readonly action: BreakerPolicy['action'] },
    ) => {
      const { threshold, action } = context.policy.breaker;
      if (params.session !== context.session || params.action !== action) return false;
      return threshold !== null && context.failedCalls + 1 >= threshold;
    },
    keepsStale: ({ context }) => context.policy.catalog.whileDown === 'keepStale',
    defersWhileDown: ({ context }) =>
      context.policy.catalog.whileDown === 'deferred' && isStored(context),
    mayShowStored: ({ context }) => mayShowStored(context),
    // These two look at a server that is about to be admitted or started.
    mayShowStoredOnceAdmitted: ({ context }) =>
      isStored(context) && !context.stopWanted && !context.retiring,
    mayShowStoredOnceStarted: ({ context }) =>
      isStored(context) && context.verdict === 'admitted' && !context.retiring,
  },
  delays: {
    queueDeadline: ({ context }) => context.policy.connect.queueTimeoutMs,
    connectDeadline: ({ context }) => connectTimeoutOf(context) ?? longestTimerMs,
    listDeadline: ({ context }) => context.policy.connect.listTimeoutMs,
    closeDeadline: ({ context }) => context.policy.close.totalMs,
    reconnectBackoff: ({ context }) => context.delayMs,
    sustainedReady: ({ context: { policy } }) =>
      policy.restart.budgetReset === 'immediate' ? calmMs : policy.restart.budgetReset.sustainedMs,
    // Without one, the longest wait a timer can hold; the guard then lets it pass.
    idleDeadline: ({ context }) => context.policy.idle.stopMs ?? longestTimerMs,
    // As long as a call may take by the same settings: whoever asked for more is cut off.
    drainDeadline: ({ context }) => context.policy.call.timeoutMs,
    lookPause: ({ context }) => context.policy.health.everyMs,
    lookDeadline: ({ context }) => lookTimeoutOf(context.policy),
    wakePause: ({ context: { wakeSpreadMs, seed, session } }) =>
      wakeDelay(wakeSpreadMs, chanceOf(seed, session)),
    // Five seconds, when it woke: a dead connection should be back within half a minute.
    wokenLookDeadline: ({ context }) => Math.min(5_000, lookTimeoutOf(context.policy)),
    // Two seconds: networks come back one or two seconds after the machine, and some servers too.
    doubtPause: 2_000,
    // Half a minute, as long as a list may take: a server that cannot list is not asked harder.
    relistPause: 30_000,
    circuitCooldown: ({ context }) => context.cooldownMs,
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
