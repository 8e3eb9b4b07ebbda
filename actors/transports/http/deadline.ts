/** A deadline on the injected clock that does not keep the process alive. */

import type { Clock } from '../../../src/domain/clock.ts';

/** Calls back once after the delay, unless the returned function is called before. */
export function startDeadline(clock: Clock, delayMs: number, onReached: () => void): () => void {
  const timer = clock.setTimeout(onReached, delayMs);
  // The awaited socket keeps the process alive if anything should.
  if (isReferenced(timer)) timer.unref();
  return () => clock.clearTimeout(timer);
}

function isReferenced(timer: unknown): timer is { unref(): void } {
  return typeof timer === 'object' && timer !== null && 'unref' in timer;
}
