/** Decides whether a lost server is retried, and what follows if it is not. */

import { type Failure, isBusy } from '../../domain/failure.ts';
import type { AfterGiveUp, BusyBackoff, ServerPolicy } from '../../domain/policy.ts';
import { isRemote, type TransportKind } from '../../domain/server-spec.ts';

interface LossFacts {
  readonly policy: ServerPolicy;
  readonly transport: TransportKind;
  /** Null = nothing was lost. */
  readonly loss: Failure | null;
  readonly tries: {
    /** Attempts of the current start or outage. */
    readonly attempt: number;
    /** Consecutive starts that failed the same way. */
    readonly sameExits: number;
  };
  /** The server was ready before, so this is an outage and not a failed start. */
  readonly hasServed: boolean;
}

/** Returns whether the restart rule forbids another attempt, whatever the budget. */
export function isRestartForbidden({ loss, policy, transport, hasServed }: LossFacts): boolean {
  // A server that never got a start permit is not restarted but started for the first time.
  if (loss === null || loss.kind === 'notStarted') return false;
  const { on } = policy.restart;
  if (on === 'never') return true;
  const isAlways = on === 'always' || (isRemote(transport) && on !== 'failure');
  const isNever = on === 'remote' && !isRemote(transport);
  return (isNever && hasServed) || (loss.kind === 'cleanExit' && !isAlways);
}

// One attempt and one re-initialization: a server that forgot both sessions at once would also forget the next.
const mostForgottenStarts = 2;

/** Returns whether something is missing without which no start succeeds, and the policy stops there. */
export function isNotStartable({ loss, policy }: Pick<LossFacts, 'loss' | 'policy'>): boolean {
  return loss?.missing !== undefined && policy.startup.missing === 'fail';
}

/**
 * Returns whether two starts ended with the same exit code and the same explanation, or with the same
 * answer of an address that is probably wrong.
 */
export function isSameFailure(one: Failure | null, other: Failure): boolean {
  if (one?.suspect === 'url' && other.suspect === 'url')
    return one.httpStatus === other.httpStatus && one.message === other.message;
  if (one?.explanation === undefined || other.explanation === undefined) return false;
  return (
    one.exitCode === other.exitCode &&
    withoutNumbers(one.explanation) === withoutNumbers(other.explanation)
  );
}

/** Process ids, ports and times differ between two exits that say the same. */
function withoutNumbers(text: string): string {
  return text.replace(/\d+/gu, '#');
}

/** Returns whether so many starts failed the same way that the policy makes no other. */
export function failedAlike({ hasServed, policy, tries }: LossFacts): boolean {
  const limit = policy.startup.sameExits;
  return !hasServed && limit !== null && tries.sameExits >= limit;
}

/** Returns whether another attempt is allowed. Starts and outages have separate budgets. */
export function hasAttemptsLeft(facts: LossFacts): boolean {
  const { tries, hasServed, loss, transport } = facts;
  const { attempt } = tries;
  const { startup, restart } = facts.policy;
  const { maxAttempts } = hasServed ? restart : startup;
  if (loss === null || (maxAttempts !== null && attempt >= maxAttempts)) return false;
  if (failedAlike(facts)) return false;
  // Only if quiet attempts follow, so that this limit never gives up on a server.
  const isQuietNext = isRemote(transport) && typeof startup.afterGiveUp === 'object';
  const isForgotten = loss.kind === 'sessionMissing' && !hasServed;
  if (isForgotten && isQuietNext && attempt >= mostForgottenStarts) return false;
  if (hasServed || startup.retryOn === 'any' || loss.kind === 'notStarted') return true;
  return startup.retryOn.includes(loss.kind);
}

/** Returns the waits after a start that the server answered as busy; null for any other loss. */
export function busyBackoffOf({ hasServed, loss, policy }: LossFacts): BusyBackoff | null {
  return !hasServed && loss !== null && isBusy(loss) ? policy.startup.busyBackoff : null;
}

export function afterGiveUpOf({ hasServed, policy }: LossFacts): AfterGiveUp {
  return hasServed ? policy.restart.afterGiveUp : policy.startup.afterGiveUp;
}

/**
 * Returns whether a busy server's start is repeated. A server that goes dormant after giving up
 * also backs off; a new demand must not retry immediately.
 */
export function isBusyStart(facts: LossFacts): boolean {
  if (busyBackoffOf(facts) === null) return false;
  return !isRestartForbidden(facts) || afterGiveUpOf(facts) === 'untilDemanded';
}

/** Returns whether a server without further attempts goes dormant until a caller needs it. */
export function sleepsAfterGivingUp(facts: LossFacts): boolean {
  if (facts.loss === null || afterGiveUpOf(facts) !== 'untilDemanded') return false;
  return isRestartForbidden(facts) || !hasAttemptsLeft(facts);
}

/** Returns whether a remote server without further attempts is retried quietly and indefinitely. */
export function isLostRemote(facts: LossFacts): boolean {
  const { loss, transport } = facts;
  return loss !== null && isRemote(transport) && typeof afterGiveUpOf(facts) === 'object';
}
