/** Lets a signal through at once, then at most once per interval; the last one is never lost. */

import type { Clock } from '../src/domain/clock.ts';

export interface Throttle {
  trigger(): void;
  stop(): void;
}

export function createThrottle(clock: Clock, intervalMs: number, fire: () => void): Throttle {
  let state: 'idle' | 'resting' | 'due' | 'stopped' = 'idle';
  let timer: unknown;
  const pass = (): void => {
    state = 'resting';
    timer = clock.setTimeout(() => {
      if (state === 'due') pass();
      else state = 'idle';
    }, intervalMs);
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
