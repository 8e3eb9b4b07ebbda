import type { Clock } from '../../src/domain/clock.ts';

/**
 * Waits for a promise, but not longer than a limit and not once the signal is aborted; undefined
 * when it was too late. Rejects as the promise does.
 */
export async function withinTime<Value>(
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>,
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
