/**
 * Forwards the first signal at once, then at most one per interval; the last signal is never lost. The
 * interval doubles while signals continue, up to a maximum, and resets after a quiet interval.
 */

import type { Clock } from '../domain/clock.ts';

export type Throttle = ReturnType<typeof createThrottle>;

export function createThrottle(
  clock: Clock,
  intervalMs: number,
  fire: () => void,
  maxIntervalMs = intervalMs,
) {
  let currentMs = intervalMs;
  let state: 'idle' | 'resting' | 'due' | 'stopped' = 'idle';
  let timer: unknown;
  const pass = (): void => {
    state = 'resting';
    timer = clock.setTimeout(() => {
      if (state === 'due') {
        currentMs = Math.min(currentMs * 2, maxIntervalMs);
        pass();
      } else {
        state = 'idle';
        currentMs = intervalMs;
      }
    }, currentMs);
    fire();
  };
  return {
    trigger(): void {
      if (state === 'idle') pass();
      else if (state === 'resting') state = 'due';
    },
    stop(): void {
      state = 'stopped';
      clock.clearTimeout(timer);
    },
  };
}
