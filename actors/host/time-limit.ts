/** Waits and deadlines on the injected clock. */

import type { Clock } from '../../src/domain/clock.ts';
import type { Abortable } from './abort.ts';

type Timers = Pick<Clock, 'setTimeout' | 'clearTimeout'>;

/**
 * Waits for a promise, but no longer than a limit and no longer than the signal allows; resolves
 * with undefined when that ends the wait. Rejects if the promise does.
 */
export async function withinTime<Value>(
  clock: Timers,
  limitMs: number,
  promise: Promise<Value>,
  signal?: Abortable,
): Promise<Value | undefined> {
  let giveUp = (): void => {};
  const limit = new Promise<undefined>((resolve) => {
    const timer = clock.setTimeout(() => giveUp(), limitMs);
    giveUp = () => {
      clock.clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
      resolve(undefined);
    };
  });
  signal?.addEventListener('abort', giveUp);
  if (signal?.aborted === true) giveUp();
  try {
    return await Promise.race([promise, limit]);
  } finally {
    giveUp();
  }
}

/** Waits for this long; resolves early when the signal is aborted. */
export async function pause(clock: Timers, delayMs: number, signal: Abortable): Promise<void> {
  await withinTime(clock, delayMs, new Promise(() => {}), signal);
}
