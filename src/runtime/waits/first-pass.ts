import type { Clock } from '../../domain/clock.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { RootRef } from '../status/board.ts';
import type { CallOptions } from '../troupe.ts';
import { waitOnce } from '../wait-once.ts';

/**
 * Waits until the settings were read, for before that names mean nothing.
 * Settles with what is left of the call's options.
 *
 * @throws TroupeError `CANCELLED`, or `CONNECTING` at the call's own deadline.
 */
export async function afterFirstPass(
  root: RootRef,
  clock: Clock,
  hasLooked: () => boolean,
  options: CallOptions,
): Promise<CallOptions> {
  const { signal, timeoutMs } = options;
  const deadlineAt = clock.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
  while (!hasLooked() && signal?.aborted !== true && clock.now() < deadlineAt) {
    await waitOnce({ clock, deadlineAt, signal }, (wake) => {
      const subscription = root.subscribe({ next: wake, complete: wake, error: wake });
      return () => {
        subscription.unsubscribe();
      };
    });
  }
  if (signal?.aborted === true) {
    throw new TroupeError('CANCELLED', 'The call was cancelled before it was sent.');
  }
  const leftMs = deadlineAt - clock.now();
  if (leftMs <= 0) {
    throw new TroupeError(
      'CONNECTING',
      'The settings were not read within the deadline of the call. Call again, or allow more time.',
      { retryable: true },
    );
  }
  return timeoutMs === undefined ? options : { ...options, timeoutMs: leftMs };
}
