/** The server chart's input, context and events, and the calculations that its actions and guards share. */

import type { DoneActorEvent, ErrorActorEvent } from 'xstate';
import { type Failure, isPermanent } from '../../src/domain/failure.ts';
import type {
  FirstAttempt,
  QuietRetries,
  ServerPolicy,
  StormLimit,
} from '../../src/domain/policy.ts';
import { isRemote, type TransportKind } from '../../src/domain/server-spec.ts';
import type { DegradedReason, Verdict } from '../../src/domain/server-state.ts';
import type { SessionEnd, SessionFact } from '../../src/domain/session.ts';
import { busyDelay, quietDelay, restartDelay } from '../../src/policies/backoff.ts';
import { lossOf, withEvidence } from '../../src/policies/failures/loss-evidence.ts';
import {
  afterGiveUpOf,
  busyBackoffOf,
  isNotStartable,
  isSameFailure,
} from '../../src/policies/failures/restart-decision.ts';
import { chanceOf } from '../../src/policies/seeded-random.ts';
import { reachesLimit, recordInWindow } from '../../src/policies/window-limit.ts';
import type { SlotPool } from '../slots.ts';

export interface ServerInput {
  /** This actor's id: the server's name and `.0` or `.1`. */
  readonly actorId: string;
  readonly name: string;
  readonly generation: string;
  readonly transport: TransportKind;
  readonly startup: 'eager' | 'lazy';
  readonly policy: ServerPolicy;
  readonly verdict: Verdict;
  /**
   * Whether the user stopped this generation earlier; if so, it stays stopped. Invariant: only a
   * start or a restart takes a stop back.
   */
  readonly stopWanted: boolean;
  /** Whether the user started it before this actor existed. */
  readonly startWanted: boolean;
  /** Whether it starts alongside the previous generation, which serves until this one does. */
  readonly succeeds: boolean;
  /** Whether a tool list of this generation is stored. */
  readonly hasStoredCatalog: boolean;
  /** Whether a package runner starts it, which may download it first. */
  readonly mayDownload: boolean;
  /** Seeds this actor's own, repeatable jitter. */
  readonly seed: number;
}

/** A limit of an open session, and why it applies if the session said so. */
export interface Impairment {
  readonly reason: DegradedReason;
  readonly failure: Failure | null;
}

/** Returns whether a server with this input needs the user's action before it can start. */
export function startsHalted({ verdict, stopWanted }: ServerInput): boolean {
  return verdict !== 'admitted' || stopWanted;
}

/** Returns whether a server with this input starts as soon as it exists, and so needs a permit. */
export function startsAtOnce(input: ServerInput): boolean {
  return !startsHalted(input) && isDemanded(input);
}

/** Returns whether a server with this input is needed from the beginning. */
export function isDemanded({ startup, startWanted, stopWanted }: ServerInput): boolean {
  return (startup === 'eager' || startWanted) && !stopWanted;
}

/** Returns the pool of which a server's start needs a permit. */
export function poolOf({ transport }: Pick<ServerInput, 'transport'>): SlotPool {
  return isRemote(transport) ? 'remote' : 'local';
}

/** Attempts of a start or an outage, owned by the region `connection`. */
interface Tries {
  /**
   * Attempts of the current start or outage, until the policy restores the budget. Invariant:
   * attempts are counted from zero.
   */
  readonly attempt: number;
  /** Waits before those attempts; selects the next delay. */
  readonly waits: number;
  /** Consecutive starts that failed the same way. */
  readonly sameExits: number;
  /** Waits before the quiet retries after giving up. */
  readonly quietWaits: number;
}

/** Losses that may be a storm, owned by the region `connection`. */
interface LossWindows {
  /**
   * Times at which ready sessions crashed, up to `policy.storm.crashLoop.limit`. Invariant: windows
   * hold no more than their limits.
   */
  readonly crashTimes: readonly number[];
  /**
   * Times at which ready sessions were lost for any reason, or replaced because calls failed, up to
   * `policy.storm.reconnectStorm.limit`. Invariant: windows hold no more than their limits.
   */
  readonly lossTimes: readonly number[];
}

/** What is known of the server while a session is open, owned by the region `connection`. */
interface Peer {
  /** The session's era. Invariant: what is known of a peer is forgotten with its session. */
  readonly era: 'legacy' | 'modern' | null;
  /** The process's id. Invariant: what is known of a peer is forgotten with its session. */
  readonly pid: number | null;
  /**
   * What currently limits the session. Invariant: what is known of a peer is forgotten with its
   * session.
   */
  readonly impairments: readonly Impairment[];
}

/** The failed calls and the wait of the region `circuit`, which owns them. */
interface CircuitCounts {
  /**
   * Consecutive failed calls while the circuit is closed, across sessions. Invariant: failed calls
   * are counted below the threshold.
   */
  readonly failedCalls: number;
  /** The circuit's current cool-down, in milliseconds. Invariant: the cool-down keeps its bound. */
  readonly cooldownMs: number;
}

export interface ServerContext extends ServerInput {
  /** Whether the root is retiring this actor. Invariant: retirement is never taken back. */
  readonly retiring: boolean;
  /** Whether the server is needed now; without demand, a lazy server stays dormant. */
  readonly demanded: boolean;
  /** Whether a call or the user is waiting for this start, which then has priority in the queue. */
  readonly awaited: boolean;
  /** Number of the current or last session, from 1. Invariant: one session is counted at a time. */
  readonly session: number;
  /**
   * Whether it has been ready since its last fresh start; if so, a failure is an outage, not a
   * failed start.
   */
  readonly hasServed: boolean;
  /** When the session became ready; monotonic, in milliseconds. */
  readonly readyAt: number;
  /** How long the last session that was lost had been ready, in milliseconds. */
  readonly servedMs: number;
  /** The loss that `answeringLoss` has yet to handle. */
  readonly loss: Failure | null;
  /** The last failure, for display. */
  readonly lastError: Failure | null;
  /**
   * Consecutive sessions that ended because the server sent too much; reset by a sustained ready
   * period. Invariant: floods are counted up to the one that suspends.
   */
  readonly floods: number;
  /** The wait that the current backoff chose, in milliseconds. */
  readonly delayMs: number;
  readonly tries: Tries;
  readonly windows: LossWindows;
  readonly peer: Peer;
  readonly circuit: CircuitCounts;
}

/** Commands from the root and the call path. */
export type ServerCommand =
  | { readonly type: 'server.start' }
  | { readonly type: 'server.stop' }
  | { readonly type: 'server.restart' }
  | { readonly type: 'server.reconnect' }
  | { readonly type: 'server.refresh' }
  | { readonly type: 'server.retire' }
  /** The server's successor serves: the server ends as soon as its calls are done. */
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
  /** The user answered an input of its settings. */
  | { readonly type: 'input.answered' }
  /** An earlier run's list is no longer stored. */
  | { readonly type: 'catalog.forgotten' }
  /** The machine slept, or this process was suspended; the servers' reactions are spread over this window. */
  | { readonly type: 'server.woke'; readonly spreadMs: number };

/** Calls that began or ended, with the number of the session they belong to. */
export type CallFact =
  | {
      readonly type: 'calls.began' | 'calls.drained';
      readonly session: number;
      /** Of the server since the start, for the records; no decision depends on it. */
      readonly calls?: number;
    }
  | { readonly type: 'call.succeeded'; readonly session: number }
  /** `at` is monotonic, in milliseconds. */
  | { readonly type: 'call.failed'; readonly session: number; readonly at: number };

/** What one region reports to the others. Never sent from outside. */
type InternalEvent =
  | { readonly type: 'server.listed' }
  | { readonly type: 'server.faltered' }
  | { readonly type: 'server.idled' }
  | { readonly type: 'server.relieved' }
  | { readonly type: 'server.hung'; readonly failedChecks: number }
  | { readonly type: 'server.gaveUp' }
  | { readonly type: 'server.rested' }
  | { readonly type: 'server.ended' }
  | { readonly type: 'probe.wanted' }
  | { readonly type: 'probe.began' }
  | { readonly type: 'breaker.tripped'; readonly at: number };

/** The session chart is done, or threw. All regions receive it. */
type SessionOver = DoneActorEvent<SessionEnd, 'session'> | ErrorActorEvent<unknown, 'session'>;

export type ServerEvent = ServerCommand | CallFact | SessionFact | SessionOver | InternalEvent;

/** Returns why a server that stopped answering health checks is given up. */
export function hangOf(failedChecks: number): Failure {
  const times = failedChecks === 1 ? 'once' : `${failedChecks} times in a row`;
  return {
    kind: 'transport',
    message: `The server was asked ${times} whether it is alive and did not answer.`,
  };
}

// The first flood may be an accident of that run, the second a coincidence.
export const floodsToSuspend = 3;

/** Returns the context after a session ended without being asked to close. */
export function afterEnd(context: ServerContext, end: SessionEnd): Partial<ServerContext> {
  const { tries, floods, lastError, windows, policy } = context;
  const loss = withEvidence(lossOf(end), end);
  const servedMs = end.wasOpen ? end.at - context.readyAt : 0;
  const lost = { loss, lastError: loss, servedMs };
  // A server that was never started has not failed: the attempt does not count, and only the waits grow.
  if (!end.wasOpen)
    return {
      ...lost,
      tries: {
        ...tries,
        attempt: Math.max(0, tries.attempt - (loss.kind === 'notStarted' ? 1 : 0)),
        sameExits: isSameFailure(lastError, loss) ? tries.sameExits + 1 : 1,
      },
    };
  if (end.isFlood) return { ...lost, floods: Math.min(floods + 1, floodsToSuspend) };
  const { crashLoop, reconnectStorm } = policy.storm;
  const { crashTimes } = windows;
  return {
    ...lost,
    windows: {
      lossTimes: recordInWindow(windows.lossTimes, end.at, reconnectStorm),
      crashTimes:
        loss.kind === 'crashed' ? recordInWindow(crashTimes, end.at, crashLoop) : crashTimes,
    },
  };
}

/**
 * Returns the context after the circuit had the session replaced; too many replacements in a row
 * count as a loss.
 */
export function afterExchange(
  { windows: before, policy }: ServerContext,
  at: number,
): Partial<ServerContext> {
  const { reconnectStorm } = policy.storm;
  const lossTimes = recordInWindow(before.lossTimes, at, reconnectStorm);
  const windows = { ...before, lossTimes };
  if (!reachesLimit(lossTimes, reconnectStorm)) return { windows };
  const loss: Failure = {
    kind: 'transport',
    message: 'Calls kept failing, and exchanging the session did not help.',
  };
  return { windows, loss, lastError: loss };
}

/** Returns whether the start may have to download the server: its tools were never listed here. */
export function isFirstRun({ mayDownload, hasStoredCatalog }: ServerContext): boolean {
  return mayDownload && !hasStoredCatalog;
}

/** Returns whether a list is stored and the policy allows storing lists. */
export function isStored({ hasStoredCatalog, policy }: ServerContext): boolean {
  return hasStoredCatalog && policy.catalog.cache !== 'none';
}

/** Returns whether stored tools may be shown. */
export function mayShowStored(context: ServerContext): boolean {
  const { verdict, stopWanted, retiring } = context;
  return isStored(context) && verdict === 'admitted' && !stopWanted && !retiring;
}

/** Returns when the first attempt after this loss is made. */
function firstOf({ loss, policy }: Pick<ServerContext, 'loss' | 'policy'>): FirstAttempt {
  const { first, firstAfterExpiry } = policy.restart;
  return loss?.kind === 'sessionMissing' ? (firstAfterExpiry ?? first) : first;
}

/** Chooses the wait before the next attempt, with jitter. */
export function reconnectWait(context: ServerContext): Partial<ServerContext> {
  const busy = busyBackoffOf(context);
  const chance = chanceOf(context.seed, context.session);
  const waits = context.tries.waits + 1;
  const delayMs =
    busy === null
      ? restartDelay(
          { ...context.policy.restart, first: firstOf(context) },
          waits,
          chance,
          context.servedMs,
        )
      : busyDelay(busy, waits, chance);
  return { tries: { ...context.tries, waits }, delayMs: honourRetryAfter(delayMs, context) };
}

/** Chooses a remote server's long wait after giving up. */
export function quietWait(context: ServerContext): Partial<ServerContext> {
  // `isLostRemote` admits only servers with such a rule.
  const rule = afterGiveUpOf(context) as QuietRetries;
  const chance = chanceOf(context.seed, context.session);
  const quietWaits = context.tries.quietWaits + 1;
  const delayMs = quietDelay(rule, context.policy.restart.jitter, quietWaits, chance);
  return { tries: { ...context.tries, quietWaits }, delayMs: honourRetryAfter(delayMs, context) };
}

/** Returns whether a call that waits ends the wait: the first of an outage, unless the peer requested it. */
export function endsOnDemand({ hasServed, loss, policy, tries }: ServerContext): boolean {
  const first = firstOf({ loss, policy });
  const isFirst = hasServed && tries.waits === 1 && typeof first === 'object';
  return isFirst && loss?.retryAfterMs === undefined;
}

function honourRetryAfter(delayMs: number, { loss, policy }: ServerContext): number {
  if (loss?.retryAfterMs === undefined) return delayMs;
  const { retryAfterMinMs, retryAfterMaxMs } = policy.restart;
  const asked = Math.min(Math.max(loss.retryAfterMs, retryAfterMinMs), retryAfterMaxMs);
  return Math.max(delayMs, asked);
}

/** Returns whether the losses have reached a storm limit that leads to this action. */
function trips(
  times: readonly number[],
  { loss }: ServerContext,
  storm: StormLimit | null,
  action: StormLimit['action'],
): boolean {
  return loss !== null && storm?.action === action && reachesLimit(times, storm);
}

/** Returns whether too many sessions that served ended in a crash. */
export function isCrashLooping(context: ServerContext, action: StormLimit['action']): boolean {
  return trips(context.windows.crashTimes, context, context.policy.storm.crashLoop, action);
}

/** Returns whether too many sessions were lost in a short time or ended in a flood; floods always suspend. */
export function isReconnectStorm(context: ServerContext, action: StormLimit['action']): boolean {
  const { loss, floods, windows, policy } = context;
  const isFloodStorm = action === 'suspend' && loss !== null && floods >= floodsToSuspend;
  return isFloodStorm || trips(windows.lossTimes, context, policy.storm.reconnectStorm, action);
}

/** Returns whether either limit on lost sessions is reached. */
export function isStorming(context: ServerContext, action: StormLimit['action']): boolean {
  return isCrashLooping(context, action) || isReconnectStorm(context, action);
}

/** Returns whether the server has failed for good, even if its budget has attempts left. */
export function isBeyondRetry(context: ServerContext): boolean {
  const { loss } = context;
  const isHopeless = (loss !== null && isPermanent(loss.kind)) || isNotStartable(context);
  return isHopeless || isStorming(context, 'fail');
}
