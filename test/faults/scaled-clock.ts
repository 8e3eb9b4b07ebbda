import type { Clock } from '../../src/index.ts';

const longestTimerMs = 2_147_483_647;

/** Runs real time at another speed: scales the troupe's waits, not those of its servers. */
export function scaledClock(speed: number): Clock {
  const wallStart = Date.now();
  const start = performance.now();
  const now = (): number => start + (performance.now() - start) * speed;
  return {
    now,
    wallNow: () => wallStart + now() - start,
    setTimeout: (callback, delayMs) =>
      setTimeout(callback, Math.min(delayMs / speed, longestTimerMs)),
    clearTimeout: (handle) => {
      clearTimeout(handle as NodeJS.Timeout);
    },
  };
}
