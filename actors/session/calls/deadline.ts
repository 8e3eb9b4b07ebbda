/**
 * Ends a request that gets no response in time, with a timer on the injected clock. The SDK's own
 * timer fires before any input is read after the event loop was blocked, and would fail a request
 * whose response has already arrived.
 *
 * While the server waits for our answer to a question, its timeout is paused, within the caller's limit.
 */

import { type Clock, longestTimerMs } from '../../../src/domain/clock.ts';
import type { SessionCallOptions } from '../../../src/domain/session.ts';
import { NotSentError } from '../../transports/connection/connection.ts';

/** A call's remaining time, in milliseconds; its deadlines consume it. */
export interface CallTime {
  /** The server's time. */
  leftMs: number;
  /** Time for answers to the server's questions; anything beyond it consumes the server's time. */
  questionsMs: number;
  /** The latest time to which renewals can extend the call. */
  untilMs: number;
  /** The server's time after each progress notification; undefined if progress changes nothing. */
  readonly silenceMs: number | undefined;
}

export function timeOf(options: Omit<SessionCallOptions, 'signal'>): CallTime {
  const { timeoutMs, questionsMs = 0, renewal } = options;
  const untilMs = renewal?.untilMs ?? timeoutMs;
  return { leftMs: timeoutMs, questionsMs, untilMs, silenceMs: renewal?.silenceMs };
}

/** Called when the server reports progress: its time starts again. */
export function renew(time: CallTime): void {
  if (time.silenceMs !== undefined) time.leftMs = Math.min(time.silenceMs, time.untilMs);
}

/** Fires once, unless it is stopped first. Each `hold` is followed by one `release`. */
export class CallDeadline {
  readonly #clock: Clock;
  readonly #time: CallTime;
  readonly #onLate: () => void;
  #holds = 0;
  #since: number;
  #timer: unknown;

  constructor(clock: Clock, time: CallTime, onLate: () => void) {
    this.#clock = clock;
    this.#time = time;
    this.#onLate = onLate;
    this.#since = clock.now();
    this.#timer = clock.setTimeout(onLate, bounded(time.leftMs));
  }

  /** Stops the server's time. */
  hold(): void {
    this.#account();
    this.#holds += 1;
    this.#wait();
  }

  release(): void {
    this.#account();
    this.#holds -= 1;
    this.#wait();
  }

  /** Called when the server reports progress. */
  renew(): void {
    if (this.#time.silenceMs === undefined || this.#timer === undefined) return;
    this.#account();
    renew(this.#time);
    this.#wait();
  }

  stop(): void {
    this.#account();
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #account(): void {
    const now = this.#clock.now();
    const elapsedMs = now - this.#since;
    this.#since = now;
    const free = this.#holds > 0 ? Math.min(elapsedMs, this.#time.questionsMs) : 0;
    this.#time.questionsMs -= free;
    this.#time.leftMs -= elapsedMs - free;
    this.#time.untilMs -= elapsedMs - free;
  }

  #wait(): void {
    // After `stop`, `hold` and `release` start no timer.
    if (this.#timer === undefined) return;
    this.#clock.clearTimeout(this.#timer);
    const { leftMs, questionsMs } = this.#time;
    const ms = this.#holds > 0 ? leftMs + questionsMs : leftMs;
    this.#timer = this.#clock.setTimeout(this.#onLate, bounded(ms));
  }
}

function bounded(ms: number): number {
  return Math.min(Math.max(0, ms), longestTimerMs);
}

/** Rejects with the code `REQUEST_TIMEOUT` if the time runs out before the response arrives. */
export async function withDeadline<Result>(
  clock: Clock,
  { signal, time }: { readonly signal?: AbortSignal | undefined; readonly time: CallTime },
  send: (signal: AbortSignal, deadline: CallDeadline) => Promise<Result>,
): Promise<Result> {
  const request = new AbortController();
  let isOver = false;
  const pass = (): void => request.abort(signal?.reason);
  signal?.addEventListener('abort', pass, { once: true });
  const deadline = new CallDeadline(clock, time, () => {
    isOver = true;
    request.abort(timedOut());
  });
  try {
    return await send(request.signal, deadline);
  } catch (error) {
    throw isOver && !(error instanceof NotSentError) ? timedOut() : error;
  } finally {
    deadline.stop();
    signal?.removeEventListener('abort', pass);
  }
}

/** Creates the error for a request whose time has run out. */
export function timedOut(): Error {
  return Object.assign(new Error('Request timed out'), { code: 'REQUEST_TIMEOUT' });
}
