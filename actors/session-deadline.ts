/**
 * Ends a request that is not answered in time, by a timer of the injected clock:
 * the SDK's own fires before anything is read when the event loop was held, and
 * would fail a request whose answer has already come.
 */

import { type Clock, longestTimerMs } from '../src/domain/clock.ts';
import type { SessionCallOptions } from '../src/domain/session.ts';
import { NotSentError } from './session-connection.ts';

export type Deadline = Pick<SessionCallOptions, 'signal' | 'timeoutMs' | 'renewal'>;

/**
 * Rejects with the code `REQUEST_TIMEOUT` when the time is over before the answer is there.
 *
 * @param send - gets the signal that ends it, and what to call with each news of progress
 */
export async function withDeadline<Result>(
  clock: Clock,
  { signal, timeoutMs, renewal }: Deadline,
  send: (signal: AbortSignal, renew: () => void) => Promise<Result>,
): Promise<Result> {
  const request = new AbortController();
  let isOver = false;
  const pass = (): void => request.abort(signal?.reason);
  signal?.addEventListener('abort', pass, { once: true });
  const end = (): void => {
    isOver = true;
    request.abort(timedOut());
  };
  const startedAt = clock.now();
  let timer = clock.setTimeout(end, Math.min(timeoutMs, longestTimerMs));
  let isSettled = false;
  const renew = (): void => {
    if (renewal === undefined || isOver || isSettled) return;
    const leftMs = startedAt + renewal.untilMs - clock.now();
    clock.clearTimeout(timer);
    const waitMs = Math.max(0, Math.min(renewal.silenceMs, leftMs, longestTimerMs));
    timer = clock.setTimeout(end, waitMs);
  };
  try {
    return await send(request.signal, renew);
  } catch (error) {
    throw isOver && !(error instanceof NotSentError) ? timedOut() : error;
  } finally {
    isSettled = true;
    clock.clearTimeout(timer);
    signal?.removeEventListener('abort', pass);
  }
}

/** What a request fails with when its time is over. */
export function timedOut(): Error {
  return Object.assign(new Error('Request timed out'), { code: 'REQUEST_TIMEOUT' });
}
