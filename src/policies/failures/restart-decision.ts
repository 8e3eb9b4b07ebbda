/** Applies a policy to a loss: whether the server is retried, and what follows if not. */

import { type Failure, isBusy } from '../../domain/failure.ts';
import type { AfterGiveUp, BusyBackoff, ServerPolicy } from '../../domain/policy.ts';
import { isRemote, type TransportKind } from '../../domain/server-spec.ts';

interface LossFacts {
  readonly policy: ServerPolicy;
  readonly transport: TransportKind;
  /** Null = nothing was lost. */
  readonly loss: Failure | null;
  /** Tries of the present start or outage. */
  readonly attempt: number;
  /** The server was ready before: this is an outage, no failing start. */
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

// The attempt and one re-initialization: a server that forgot both sessions at once would forget the next.
const mostForgottenStarts = 2;

/** A start and an outage have budgets of their own. */
export function hasAttemptsLeft(facts: LossFacts): boolean {
  const { attempt, hasServed, loss, transport } = facts;
  const { startup, restart } = facts.policy;
  const { maxAttempts } = hasServed ? restart : startup;
  if (loss === null || (maxAttempts !== null && attempt >= maxAttempts)) return false;
  // Only where quiet attempts follow, so that it never gives a server up.
  const isQuietNext = isRemote(transport) && typeof startup.afterGiveUp === 'object';
  const isForgotten = loss.kind === 'sessionMissing' && !hasServed;
  if (isForgotten && isQuietNext && attempt >= mostForgottenStarts) return false;
  if (hasServed || startup.retryOn === 'any' || loss.kind === 'notStarted') return true;
  return startup.retryOn.includes(loss.kind);
}

/** The waits of a server that answered its start and could do nothing for us; null = not so. */
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

/** Returns whether a server that is not tried again sleeps until a caller needs it. */
export function sleepsAfterGivingUp(facts: LossFacts): boolean {
  if (facts.loss === null || afterGiveUpOf(facts) !== 'untilDemanded') return false;
  return isRestartForbidden(facts) || !hasAttemptsLeft(facts);
}

/** Returns whether a remote server without attempts left is retried quietly, for ever. */
export function isLostRemote(facts: LossFacts): boolean {
  const { loss, transport } = facts;
  return loss !== null && isRemote(transport) && typeof afterGiveUpOf(facts) === 'object';
}
