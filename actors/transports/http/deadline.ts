/** A deadline on an injected clock that keeps no process alive. */

import type { Clock } from '../../../src/domain/clock.ts';

/** Calls back once after that time, unless the function that it gives is called before. */
export function startDeadline(clock: Clock, delayMs: number, onReached: () => void): () => void {
  const timer = clock.setTimeout(onReached, delayMs);
  // What a deadline waits for holds the process itself, or should not hold it.
  if (isReferenced(timer)) timer.unref();
  return () => clock.clearTimeout(timer);
}

function isReferenced(timer: unknown): timer is { unref(): void } {
  return typeof timer === 'object' && timer !== null && 'unref' in timer;
}
