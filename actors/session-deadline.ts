/**
 * Ends a request that is not answered in time, by a timer of the injected clock:
 * the SDK's own fires before anything is read when the event loop was held, and
 * would fail a request whose answer has already come.
 */

import { type Clock, longestTimerMs } from '../src/domain/clock.ts';
import type { SessionCallOptions } from '../src/domain/session.ts';
import { NotSentError } from './session-connection.ts';

/** Rejects with the code `REQUEST_TIMEOUT` when the time is over before the answer is there. */
export async function withDeadline<Result>(
  clock: Clock,
  { signal, timeoutMs }: Pick<SessionCallOptions, 'signal' | 'timeoutMs'>,
  send: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const request = new AbortController();
  let isOver = false;
  const pass = (): void => request.abort(signal?.reason);
  signal?.addEventListener('abort', pass, { once: true });
  const timer = clock.setTimeout(
    () => {
      isOver = true;
      request.abort(timedOut());
    },
    Math.min(timeoutMs, longestTimerMs),
  );
  try {
    return await send(request.signal);
  } catch (error) {
    throw isOver && !(error instanceof NotSentError) ? timedOut() : error;
  } finally {
    clock.clearTimeout(timer);
    signal?.removeEventListener('abort', pass);
  }
}

/** What a request fails with when its time is over. */
export function timedOut(): Error {
  return Object.assign(new Error('Request timed out'), { code: 'REQUEST_TIMEOUT' });
}
