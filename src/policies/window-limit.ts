/** Counts events in a sliding window, as a bounded list of times. */

import type { StormLimit } from '../domain/policy.ts';

/**
 * Adds a time and drops times that are at least `windowMs` old, and all but the newest `limit`
 * times. The result is in ascending order; without a limit it is empty.
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

/** Returns whether the recorded times reach the limit. */
export function reachesLimit(
  times: readonly number[],
  storm: Pick<StormLimit, 'limit'> | null,
): boolean {
  return storm !== null && times.length >= storm.limit;
}
