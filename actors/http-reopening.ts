/**
 * Decides when a lost event stream is opened again. The SDK forgets how often
 * it did so as soon as a stream opens, and obeys a server that says "at once";
 * here the waits double while the stream keeps ending, within bounds, and a
 * random part keeps those who lost one server together from coming back together.
 */

import type { ReconnectionScheduler } from '@modelcontextprotocol/client';

import type { Clock } from '../src/domain/clock.ts';

const shortestMs = 1_000;
const longestMs = 300_000;
// A stream that held for a minute was a good one: proxies cut idle streams about so often.
const goodStreamMs = 60_000;
// Enough to spread many clients, too little to be noticed by one.
const jitterShare = 0.25;

export interface Reopening {
  readonly schedule: ReconnectionScheduler;
  stop(): void;
}

/** `onEnd` is told of every stream that ended, before its wait begins; `random` gives 0 to 1. */
export function createReopening(
  clock: Clock,
  onEnd: () => void,
  random: () => number = Math.random,
): Reopening {
  const timers = new Set<unknown>();
  let openedAt = Number.NEGATIVE_INFINITY;
  let inARow = 0;
  let isStopped = false;
  return {
    schedule(reconnect, delayMs) {
      if (isStopped) return () => {};
      inARow = clock.now() - openedAt > goodStreamMs ? 0 : inARow + 1;
      const plainMs = Math.max(shortestMs * 2 ** Math.min(inARow, 16), delayMs);
      const waitMs = Math.min(longestMs, plainMs * (1 + jitterShare * random()));
      const timer = clock.setTimeout(() => {
        timers.delete(timer);
        openedAt = clock.now();
        reconnect();
      }, waitMs);
      timers.add(timer);
      onEnd();
      return () => {
        timers.delete(timer);
        clock.clearTimeout(timer);
      };
    },
    stop() {
      isStopped = true;
      for (const timer of timers) clock.clearTimeout(timer);
      timers.clear();
    },
  };
}
