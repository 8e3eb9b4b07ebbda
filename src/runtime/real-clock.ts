import type { Clock } from '../domain/clock.ts';

// A timer holds 32 bits: a longer wait would end at once instead of late.
const longestTimerMs = 2_147_483_647;

/** The time of the machine: monotonic for decisions, wall time for display. */
export const realClock: Clock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  setTimeout: (callback, delayMs) => setTimeout(callback, Math.min(delayMs, longestTimerMs)),
  clearTimeout: (handle) => {
    clearTimeout(handle as NodeJS.Timeout);
  },
};
