/** Remembers how far a stream was read, over all the times that it is opened. */

import type { Clock } from '../../../src/domain/clock.ts';
import type { InputBudget } from '../connection/input-budget.ts';
import { eventIdOf, isBusy, isEventStream, isMessageEvent, readEvents } from './events.ts';
import { retryAfterOf } from './fetch.ts';
import { TooLongError } from './too-long.ts';

/**
 * What became of a stream.
 * - `cut`: it was broken off; `unreachable`: nobody could be asked for it.
 * - `ended`: the server ended it; `paused`: in order to be asked again, which it says by naming
 *   a wait or another event to go on after ("Sending Messages to the Server" in the MCP
 *   specification of transports).
 * - `refused`: not now; `absent`: there is no such stream.
 */
export type StreamEnd = 'cut' | 'unreachable' | 'ended' | 'paused' | 'refused' | 'absent';

export interface StreamListeners {
  readonly clock: Clock;
  readonly budget: InputBudget;
  /** Nothing is passed on once it is aborted. */
  readonly signal: AbortSignal;
  readonly onMessage: (text: string) => void;
  /** A message was longer than is read, and the stream was left for it. */
  readonly onTooLong?: (error: TooLongError) => void;
}

export class Bookmark {
  /** What comes after this event is still to be told. */
  lastEventId: string | undefined;
  /** How long the server wants to be left alone now, in milliseconds. */
  waitMs = 0;
  #retryMs = 0;
  readonly #listeners: StreamListeners;

  constructor(listeners: StreamListeners) {
    this.#listeners = listeners;
  }

  /** Reads the stream that was asked for to its end. Never rejects. */
  async follow(asking: Promise<Response>, onOpen?: () => void): Promise<StreamEnd> {
    this.waitMs = this.#retryMs;
    const response = await asking.catch(() => undefined);
    if (response === undefined) return 'unreachable';
    const { ok, body, headers } = response;
    if (ok && body !== null && isEventStream(response)) {
      onOpen?.();
      return this.read(body);
    }
    await body?.cancel();
    this.waitMs = retryAfterOf(headers.get('retry-after'), this.#listeners.clock) ?? this.waitMs;
    return isBusy(response) ? 'refused' : 'absent';
  }

  /** Reads a stream that is there to its end. Never rejects. */
  async read(body: ReadableStream<Uint8Array>): Promise<StreamEnd> {
    const { budget, signal, onMessage, onTooLong } = this.#listeners;
    const before = this.lastEventId;
    let isRetryNamed = false;
    try {
      await readEvents(body, {
        budget,
        onEvent: (event) => {
          if (signal.aborted) return;
          this.lastEventId = eventIdOf(event, this.lastEventId);
          if (isMessageEvent(event)) onMessage(event.data);
        },
        onRetry: (ms) => {
          isRetryNamed = true;
          this.#retryMs = ms;
        },
      });
    } catch (error) {
      if (error instanceof TooLongError && !signal.aborted) onTooLong?.(error);
      return 'cut';
    } finally {
      this.waitMs = this.#retryMs;
    }
    const hasMoved = this.lastEventId !== undefined && this.lastEventId !== before;
    return isRetryNamed || hasMoved ? 'paused' : 'ended';
  }
}
