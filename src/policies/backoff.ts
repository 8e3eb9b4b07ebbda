/** Computes the waits before attempts. */

import { longestTimerMs } from '../domain/clock.ts';
import type {
  BusyBackoff,
  FirstAttempt,
  Jitter,
  QuietRetries,
  RestartPolicy,
} from '../domain/policy.ts';

/**
 * Draws the milliseconds to wait before an attempt after a loss.
 *
 * With an immediate first attempt the first wait is zero, and the delays start with the second. A
 * session that served long enough skips only the first wait; the later ones are as long as without.
 *
 * @param wait - counts the waits of this outage, from 1; may be infinite
 * @param chance - in [0, 1)
 * @param servedMs - how long the lost session was ready
 */
export function restartDelay(
  { first, delays, jitter }: Pick<RestartPolicy, 'first' | 'delays' | 'jitter'>,
  wait: number,
  chance: number,
  servedMs = 0,
): number {
  if (wait <= 1 && isAtOnce(first, servedMs)) return 0;
  const place = first === 'immediate' ? wait - 1 : wait;
  if (!('factor' in delays)) {
    const rung = Math.min(Math.max(place, 1), delays.length) - 1;
    return jittered(delays[rung] ?? 0, jitter, 0, chance);
  }
  const { maxMs, floorMs = 0 } = delays;
  return jittered(
    Math.min(grownMs(delays, place), maxMs),
    jitter,
    Math.min(floorMs, maxMs),
    chance,
  );
}

function isAtOnce(first: FirstAttempt, servedMs: number): boolean {
  return typeof first === 'object' ? servedMs >= first.sustainedMs : first === 'immediate';
}

/** Draws the wait before a quiet attempt after giving up. */
export function quietDelay(
  { retryFromMs, toMs, floorMs = 0 }: QuietRetries,
  jitter: Jitter,
  wait: number,
  chance: number,
): number {
  const delays = { initialMs: retryFromMs, factor: 2, maxMs: toMs, floorMs };
  return restartDelay({ first: 'delayed', delays, jitter }, wait, chance);
}

/** Draws the wait after a start that the server answered as busy; jitter only lengthens it. */
export function busyDelay(
  { initialMs, factor, maxMs, addedJitter }: BusyBackoff,
  wait: number,
  chance: number,
): number {
  const grown = Math.min(grownMs({ initialMs, factor }, wait), maxMs);
  return wholeMs(grown + grown * addedJitter * chance);
}

// Nothing is checked or retried immediately after a wake-up, because the network is often not back yet.
const wakeFloorMs = 100;

/** Draws the delay of a health check after a wake-up, within the spread. */
export function wakeDelay(spreadMs: number, chance: number): number {
  return wholeMs(wakeFloorMs + spreadMs * chance);
}

const shortestReopenMs = 1_000;
const longestReopenMs = 300_000;
// A stream that lasted a minute counts as good: proxies cut idle streams about that often.
const goodStreamMs = 60_000;
// Spreads many clients without a noticeable delay for any one of them.
const reopenJitter = 0.25;

/**
 * Draws the wait before a stream that has ended is opened again. The waits double while it keeps being
 * lost, within bounds, whatever the server requests; jitter keeps clients that lost the same server at
 * once from returning at once.
 *
 * @param losses - consecutive losses before this one, each soon after opening
 * @param heldMs - how long it was open; undefined if the server ended it on purpose, after which the
 * next loss is the first of a new series
 * @param askedMs - the wait that the server requested
 */
export function reopenDelay(
  losses: number,
  heldMs: number | undefined,
  askedMs: number,
  chance: number,
): { readonly waitMs: number; readonly losses: number } {
  const isLost = heldMs !== undefined && heldMs <= goodStreamMs;
  const growth = isLost ? 2 ** Math.min(losses, 16) : 1;
  const plainMs = Math.max(shortestReopenMs * growth, askedMs);
  return {
    waitMs: Math.min(longestReopenMs, plainMs * (1 + reopenJitter * chance)),
    losses: heldMs === undefined ? 0 : isLost ? losses + 1 : 1,
  };
}

/**
 * `full`: every whole millisecond from the floor to the wait is equally likely, so that the
 * clients of a crashed server do not all reconnect at once. A fraction spreads evenly to both
 * sides and may exceed the longest wait.
 */
function jittered(delayMs: number, jitter: Jitter, floorMs: number, chance: number): number {
  const lowest = wholeMs(Math.ceil(floorMs));
  const ceiling = Math.max(lowest, wholeMs(delayMs));
  if (jitter === 'none') return ceiling;
  if (jitter === 'full')
    return Math.min(ceiling, lowest + Math.floor(chance * (ceiling - lowest + 1)));
  return Math.max(lowest, wholeMs(ceiling + ceiling * jitter * (2 * chance - 1)));
}

/** Limits a wait to a timer's range. */
function wholeMs(delayMs: number): number {
  return Math.floor(Math.min(Math.max(delayMs, 0), longestTimerMs));
}

function grownMs(
  { initialMs, factor }: { readonly initialMs: number; readonly factor: number },
  wait: number,
): number {
  // Bounded, because 1 ** Infinity and 0 * Infinity are not numbers.
  const growths = Math.min(Math.max(wait - 1, 0), Number.MAX_SAFE_INTEGER);
  return initialMs * Math.min(factor ** growths, Number.MAX_VALUE);
}
