/** How long to wait before an attempt, and the seeded chance that goes into it. */

import { longestTimerMs } from '../domain/clock.ts';
import type { BackoffPolicy } from '../domain/policy.ts';

/**
 * Draws the whole milliseconds to wait before an attempt.
 *
 * Full jitter: anything between the floor and the grown delay is equally likely,
 * so that many clients of one server that fell over do not come back together.
 * Never less than `floorMs` and never more than `maxMs`; when a policy sets the
 * floor above the maximum, the maximum holds.
 *
 * @param attempt - the failed attempt that is waited after, from 1; may be infinite
 * @param chance - in [0, 1)
 */
export function backoffDelay(policy: BackoffPolicy, attempt: number, chance: number): number {
  const highest = Math.floor(Math.min(policy.maxMs, longestTimerMs));
  const lowest = Math.min(highest, Math.ceil(Math.max(policy.floorMs, 0)));
  const ceiling = Math.min(highest, Math.max(lowest, Math.floor(grownMs(policy, attempt))));
  return Math.min(ceiling, lowest + Math.floor(chance * (ceiling - lowest + 1)));
}

/**
 * A number in [0, 1) that depends on nothing but its arguments; equal draws of
 * different seeds always differ. Of both only the lower 32 bits count.
 *
 * @param draw - counts the draws made with this seed
 */
export function chanceOf(seed: number, draw: number): number {
  // Both are scrambled before they meet: were they just added, one seed's
  // sequence would be another's, some draws later.
  return scramble(scramble(seed) ^ scramble(~draw)) / 2 ** 32;
}

function grownMs({ initialMs, factor }: BackoffPolicy, attempt: number): number {
  // Bounded on the way, because 1 ** Infinity and 0 * Infinity are not numbers.
  const growths = Math.min(Math.max(attempt - 1, 0), Number.MAX_SAFE_INTEGER);
  return initialMs * Math.min(factor ** growths, Number.MAX_VALUE);
}

/** The finalizer of MurmurHash3 (public domain): one-to-one on 32 bits. */
function scramble(value: number): number {
  let bits = ((value | 0) + 0x9e3779b9) | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
