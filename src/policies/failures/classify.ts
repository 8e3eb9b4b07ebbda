/**
 * Classifies a failure from what an actor observed: first by the rules of the
 * settings, then by the table in `table.ts`. A failure keeps the observations and
 * causes, within bounds.
 */

import { defined } from '../../domain/data/defined.ts';
import { printableLine } from '../../domain/data/printable.ts';
import {
  type BlockedCode,
  type Failure,
  type FailureCause,
  type FailureKind,
  isPermanent,
} from '../../domain/failure.ts';
import type { ClassifyRule } from '../../domain/policy.ts';
import {
  chainOf,
  type FailureDescription,
  kindByTable,
  type SessionPhase,
} from './failure-table.ts';

export type { FailureDescription, SessionPhase };

const messageLimit = 500;
// Causes are details, shortened to a recognizable length.
const maxCauses = 8;
const causeMessageLimit = 200;
const nameLimit = 64;
// Only this much of a message is searched, because servers decide how long their messages are.
const searchedCharacters = 4_096;

// A response with one of these statuses arrives only when the redirect was not followed.
const redirectStatuses: readonly unknown[] = [301, 302, 303, 307, 308];

/** Converts a description into a failure; a failure is returned unchanged. */
export function classifyFailure(
  seen: FailureDescription | Failure,
  rules: readonly ClassifyRule[] = [],
): Failure {
  if ('kind' in seen) return seen;
  const kind = kindByRules(seen, rules) ?? kindByTable(withinBounds(seen)) ?? 'unknown';
  const code = blockedCodeOf(seen);
  const causes = (seen.causes ?? []).slice(0, maxCauses).map(keptOf);
  const suspect = suspectOf(withinBounds(seen));
  const { exitCode, signal, stderrTail, explanation, missing, status, retryAfterMs } = seen;
  return {
    kind,
    message: printableLine(messageOf(seen, suspect), messageLimit),
    ...(causes.length > 0 && { causes }),
    ...defined({ suspect, code, exitCode, signal, stderrTail, explanation, missing }),
    ...defined({ httpStatus: status, retryAfterMs }),
  };
}

/** Names the address where it may be wrong. */
function messageOf({ message, address }: FailureDescription, suspect: Failure['suspect']): string {
  return suspect === 'url' ? `${message.replace(/\.$/u, '')} at ${address}.` : message;
}

const pageWords = /content type text\/html/u;

/** Returns what in the entry may be wrong, judging by the answer to the first messages. */
function suspectOf(seen: FailureDescription): Failure['suspect'] {
  const { phase, status, rpcCode, address, exitCode, signal, wasConnected } = seen;
  const hasSessionId = seen.hasSessionId === true;
  if (phase === 'ready' || exitCode !== undefined || signal !== undefined) return undefined;
  const chain = chainOf(seen);
  // With a session, it is the session that is unknown.
  const isForeign = [404, 405].includes(status ?? 0) && rpcCode === undefined && !hasSessionId;
  const isPage = chain.some(({ message }) => pageWords.test(message));
  if (address !== undefined && (isForeign || isPage)) return 'url';
  const isAboutEra = chain.some(({ code }) => code === 'ERA_NEGOTIATION_FAILED');
  return isAboutEra && wasConnected !== false ? 'era' : undefined;
}

/** Returns the kind that the rules of the settings assign; undefined = none. */
function kindByRules(
  seen: FailureDescription,
  rules: readonly ClassifyRule[],
): FailureKind | undefined {
  const searched = withinBounds(seen);
  return rules.find((rule) => obeys(searched, rule))?.kind;
}

/** Classifies a failure of an open connection, where "unreachable" means that it broke. */
export function asLoss(
  failure: Failure,
  seen: FailureDescription,
  rules: readonly ClassifyRule[],
): Failure {
  const isOutOfReach = failure.kind === 'unavailable' && seen.status === undefined;
  if (!isOutOfReach || kindByRules(seen, rules) !== undefined) return failure;
  return { ...failure, kind: 'transport' };
}

/**
 * Returns whether a failed request ends its open session. By the table alone, a single request
 * may require a login or lack a capability; a rule applies to the whole session.
 */
export function endsSession(
  { kind }: Failure,
  seen: FailureDescription,
  rules: readonly ClassifyRule[],
): boolean {
  if (kind === 'sessionMissing' || seen.status === 401) return true;
  return (kind === 'crashed' || isPermanent(kind)) && kindByRules(seen, rules) === kind;
}

/** Message and code may come from any cause, because the SDK wraps most errors. */
function obeys(seen: FailureDescription, { status, code, message }: ClassifyRule): boolean {
  const chain = chainOf(seen);
  const words = message?.toLowerCase();
  return (
    (status === undefined || status === seen.status) &&
    (typeof code !== 'number' || code === seen.rpcCode) &&
    (typeof code !== 'string' || chain.some((link) => link.code === code)) &&
    (words === undefined || chain.some((link) => link.message.toLowerCase().includes(words)))
  );
}

function withinBounds(seen: FailureDescription): FailureDescription {
  const cut = <Link extends FailureCause>(link: Link): Link =>
    link.message.length <= searchedCharacters
      ? link
      : { ...link, message: link.message.slice(0, searchedCharacters) };
  const body = seen.body?.slice(0, searchedCharacters);
  return {
    ...cut(seen),
    ...(body !== undefined && { body }),
    ...(seen.causes !== undefined && { causes: seen.causes.map(cut) }),
  };
}

function keptOf({ name, code, message }: FailureCause): FailureCause {
  return {
    ...(name !== undefined && { name: printableLine(name, nameLimit) }),
    ...(code !== undefined && { code: printableLine(code, nameLimit) }),
    message: printableLine(message, causeMessageLimit),
  };
}

function blockedCodeOf(seen: FailureDescription): BlockedCode | undefined {
  const codes = chainOf(seen).map(({ code }) => code);
  if (codes.includes('ERR_ADDRESS_BLOCKED')) return 'ADDRESS_BLOCKED';
  const isRedirect = redirectStatuses.includes(seen.status);
  return isRedirect || codes.includes('ERR_REDIRECT_BLOCKED') ? 'REDIRECT_BLOCKED' : undefined;
}
