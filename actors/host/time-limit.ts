/** Waits and deadlines on the injected clock. */

import type { Clock } from '../../src/domain/clock.ts';

type Timers = Pick<Clock, 'setTimeout' | 'clearTimeout'>;

/**
 * Waits for a promise, but not longer than a limit and not once the signal is aborted; undefined
 * when it was too late. Rejects as the promise does.
 */
export async function withinTime<Value>(
  clock: Timers,
  limitMs: number,
  promise: Promise<Value>,
  signal?: AbortSignal,
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

/** Waits for this long; resolves early once the signal is aborted. */
export async function pause(clock: Timers, delayMs: number, signal: AbortSignal): Promise<void> {
  await withinTime(clock, delayMs, new Promise(() => {}), signal);
}

/** Calls back once after the delay, unless the returned function is called before. */
export function startDeadline(clock: Timers, delayMs: number, onReached: () => void): () => void {
  const timer = clock.setTimeout(onReached, delayMs);
  // The awaited socket keeps the process alive if anything should.
  (timer as Partial<NodeJS.Timeout> | undefined)?.unref?.();
  return () => clock.clearTimeout(timer);
}
