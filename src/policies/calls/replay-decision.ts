/** Decides whether a lost call may be sent again. In doubt it is not. */

import type { CallPolicy } from '../../domain/policy.ts';
import type { CallFailure } from '../../domain/session.ts';
import type { ToolAnnotations } from '../../domain/tool.ts';

export interface LostCall {
  readonly failure: Pick<CallFailure, 'reason' | 'written'>;
  /** Number of sends so far. */
  readonly sends: number;
  readonly rule: CallPolicy['replay'];
  readonly tool: RepeatedTool;
}

/** Facts about a second run of a tool; absent for other requests. */
export interface RepeatedTool {
  /** Whether its server's annotations are trusted. */
  readonly isTrusted: boolean;
  readonly annotations?: ToolAnnotations | undefined;
}

/** `neverRan`: the call runs for the first time. `mayRepeat`: it may run twice, which is accepted. */
export type Replay = 'no' | 'neverRan' | 'mayRepeat';

// A third attempt could cause a storm.
const maxSends = 2;

/** Decides about one lost call. Calls that timed out or that the server refused are never sent again. */
export function replayOf({ failure, sends, rule, tool }: LostCall): Replay {
  if (sends >= maxSends || rule === 'never') return 'no';
  if (provablyNeverRan(failure)) {
    return rule === 'sessionExpired' && failure.reason !== 'sessionMissing' ? 'no' : 'neverRan';
  }
  return lostOnTheWay.has(failure.reason) && mayRunTwice(rule, tool) ? 'mayRepeat' : 'no';
}

/**
 * Returns whether a second run is acceptable: by the rule, or because a trusted server marks the tool as
 * read-only or idempotent. Checked again when the server is back.
 */
export function mayRunTwice(
  rule: CallPolicy['replay'],
  { isTrusted, annotations }: RepeatedTool,
): boolean {
  if (rule === 'once') return true;
  if (rule !== 'idempotentTrusted' || !isTrusted) return false;
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
}

/** Returns whether the request provably never ran, so that sending it again is no second run. */
export function provablyNeverRan({ reason, written }: LostCall['failure']): boolean {
  return !written && neverRan.has(reason);
}

const neverRan: ReadonlySet<CallFailure['reason']> = new Set([
  'notSent',
  'sessionMissing',
  'unavailable',
  'crashed',
]);

const lostOnTheWay: ReadonlySet<CallFailure['reason']> = new Set([
  'crashed',
  'streamLost',
  'unavailable',
  // The answer only claims this: the session is replaced, and what ran before is unknown.
  'sessionMissing',
]);
