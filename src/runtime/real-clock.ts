import { type Clock, longestTimerMs } from '../domain/clock.ts';

/** The time of the machine: monotonic for decisions, wall time for display. */
export const realClock: Clock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  setTimeout: (callback, delayMs) => setTimeout(callback, Math.min(delayMs, longestTimerMs)),
  clearTimeout: (handle) => {
    clearTimeout(handle as NodeJS.Timeout);
  },
};
