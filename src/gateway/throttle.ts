/**
 * Passes a signal on at once, then at most once per interval; the last one is never lost. The interval
 * doubles while signals keep coming, up to a maximum, and resets after a quiet interval.
 */

import type { Clock } from '../domain/clock.ts';

export interface Throttle {
  trigger(): void;
  stop(): void;
}

export function createThrottle(
  clock: Clock,
  intervalMs: number,
  fire: () => void,
  maxIntervalMs = intervalMs,
): Throttle {
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
    trigger() {
      if (state === 'idle') pass();
      else if (state === 'resting') state = 'due';
    },
    stop() {
      state = 'stopped';
      clock.clearTimeout(timer);
    },
  };
}
