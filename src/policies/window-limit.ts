/** Counts events in a sliding window, as a bounded list of times. */

import type { StormLimit } from '../domain/policy.ts';

/**
 * Adds a time and forgets what no longer matters: times that left the window (one
 * exactly `windowMs` old is out) and all but the newest `limit`. The result is in
 * ascending order. Without a limit nothing is remembered.
 *
 * @param at - monotonic milliseconds
 */
export function recordInWindow(
  times: readonly number[],
  at: number,
  storm: Pick<StormLimit, 'limit' | 'windowMs'> | null,
): readonly number[] {
  if (storm === null) return [];
  const { limit, windowMs } = storm;
  const recent = [...times.filter((time) => at - time < windowMs), at].sort((a, b) => a - b);
  return recent.slice(Math.max(0, recent.length - limit));
}

/** Returns whether the recorded times trip the limit. */
export function reachesLimit(
  times: readonly number[],
  storm: Pick<StormLimit, 'limit'> | null,
): boolean {
  return storm !== null && times.length >= storm.limit;
}
