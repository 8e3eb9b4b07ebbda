import type { Clock } from '../../src/index.ts';

const longestTimerMs = 2_147_483_647;

/** Real time, so many times faster: shortens every wait of a troupe alike, and those of its servers not. */
export function fastClock(speed: number): Clock {
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
