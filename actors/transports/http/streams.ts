/**
 * Event streams of Streamable HTTP that end and are reopened: the response to one request, and the
 * notification stream, for messages that belong to no request.
 */

import type { Clock } from '../../../src/domain/clock.ts';
import { Abort, type Abortable } from '../../host/abort.ts';
import type { InputBudget } from '../connection/input-budget.ts';
import { isEventStream } from './body.ts';
import { eventIdOf, isBusy, isMessageEvent, readEvents } from './events.ts';
import { type Answer, retryAfterOf } from './fetch.ts';
import { Reopening } from './reopening.ts';

// Consecutive attempts; a stream that opens resets the count.
const maxRefusedResumes = 2;
// Notifications are not urgent, so shorter delays requested by a server are ignored.
const shortestPauseMs = 5_000;

/**
 * How a stream ended.
 * - `cut`: the connection was interrupted; `unreachable`: the server could not be reached.
 * - `ended`: the server ended it; `paused`: the server ended it and wants it to be requested again,
 * which it indicates by naming a delay or another event ("Sending Messages to the Server" in the
 * transports section of the MCP specification).
 * - `refused`: the server is busy; `absent`: there is no such stream.
 */
type StreamEnd = 'cut' | 'unreachable' | 'ended' | 'paused' | 'refused' | 'absent';

interface StreamListeners {
  readonly clock: Clock;
  readonly budget: InputBudget;
  /** Nothing is delivered once this is aborted. */
  readonly signal: Abortable;
  readonly onMessage: (text: string) => void;
  /** Called with what interrupted the reading, for example a message that exceeds the limit. */
  readonly onCut?: (error: unknown) => void;
}

// Made once: Node's own reason has a stack trace, which costs more than the rest of an abort.
const sessionOver = new Error('The session is over.');

/** Remembers how far a stream was read, however often it is reopened. */
class Bookmark {
  /** The last event that was read. */
  lastEventId: string | undefined;
  /** The delay that the server requested, in milliseconds. */
  waitMs = 0;
  #retryMs = 0;
  readonly #listeners: StreamListeners;

  constructor(listeners: StreamListeners) {
    this.#listeners = listeners;
  }

  /** Reads a requested stream to its end. Never rejects. */
  async follow(asking: Promise<Answer>, onOpen?: () => void): Promise<StreamEnd> {
    this.waitMs = this.#retryMs;
    const answer = await asking.catch(() => undefined);
    if (answer === undefined) return 'unreachable';
    if (answer.ok && isEventStream(answer)) {
      onOpen?.();
      return this.read(answer.body);
    }
    answer.cancel();
    this.waitMs = retryAfterOf(answer.headers['retry-after'], this.#listeners.clock) ?? this.waitMs;
    return isBusy(answer) ? 'refused' : 'absent';
  }

  /** Reads an open stream to its end. Never rejects. */
  async read(body: AsyncIterable<Uint8Array>): Promise<StreamEnd> {
    const { budget, signal, onMessage, onCut } = this.#listeners;
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
      if (!signal.aborted) onCut?.(error);
      return 'cut';
    } finally {
      this.waitMs = this.#retryMs;
    }
    const hasMoved = this.lastEventId !== undefined && this.lastEventId !== before;
    return isRetryNamed || hasMoved ? 'paused' : 'ended';
  }
}

/**
 * Reads a response sent as an event stream; resolves when it ends, and never rejects. A stream that
 * ends before the response is resumed if its events have ids: after growing delays if it was cut,
 * and after the requested delay if the server ended it on purpose.
 */
export async function readAnswer(
  first: AsyncIterable<Uint8Array>,
  /** The signal is aborted when the request is given up. */
  setup: StreamListeners & {
    readonly isWaitedFor: () => boolean;
    /** Requests whatever follows this event. */
    readonly resume: (lastEventId: string) => Promise<Answer>;
    /** Called when the stream was cut or the server is unreachable, so the server may be gone. */
    readonly onDoubt: () => void;
  },
): Promise<void> {
  const { clock, signal, isWaitedFor, resume, onDoubt } = setup;
  const reopening = new Reopening(clock);
  const bookmark = new Bookmark(setup);
  let refusals = 0;
  let end = await bookmark.read(first);
  while (!signal.aborted) {
    if (end === 'cut' || end === 'unreachable') onDoubt();
    const isRefused = end === 'refused' || end === 'unreachable';
    refusals = isRefused ? refusals + 1 : 0;
    const { lastEventId, waitMs } = bookmark;
    if (end === 'absent' || refusals === maxRefusedResumes) return;
    if (lastEventId === undefined || !isWaitedFor()) return;
    if (end === 'paused') await reopening.afterPause(signal, waitMs);
    else await reopening.afterLoss(signal, waitMs);
    if (!signal.aborted) end = await bookmark.follow(resume(lastEventId));
  }
}

/**
 * Follows the notification stream. Reopens it for as long as the session lasts, after growing
 * delays while it keeps being lost.
 */
export function createNewsStream({
  clock,
  budget,
  ask,
  onMessage,
  onDoubt,
  onGap,
}: {
  readonly clock: Clock;
  readonly budget: InputBudget;
  /** Requests the stream, or its continuation after this event. */
  readonly ask: (lastEventId: string | undefined, signal: Abortable) => Promise<Answer>;
  readonly onMessage: (text: string) => void;
  /** Called when the stream was lost or could not be opened, so the server may be gone. */
  readonly onDoubt: () => void;
  /** Called when messages that the server sent while there was no stream are lost. */
  readonly onGap: () => void;
}) {
  const signal = new Abort();
  const reopening = new Reopening(clock);
  const bookmark = new Bookmark({ clock, budget, signal, onMessage });
  let isStarted = false;
  let hasOpened = false;
  /** Whether the stream was interrupted without an event id that marks where. */
  let hasGap = false;

  const closeGap = (): void => {
    if (hasGap && !signal.aborted) onGap();
    hasGap = false;
  };
  const onOpen = (): void => {
    hasOpened = true;
    closeGap();
  };
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      const end = await bookmark.follow(ask(bookmark.lastEventId, signal), onOpen);
      if (signal.aborted) return;
      const { lastEventId, waitMs } = bookmark;
      hasGap = lastEventId === undefined;
      if (end === 'absent') {
        if (!hasOpened) return;
        closeGap();
        // The stream existed before, so the server that responds now may have lost this session.
        return onDoubt();
      }
      if (end === 'paused') await reopening.afterPause(signal, Math.max(shortestPauseMs, waitMs));
      else {
        onDoubt();
        await reopening.afterLoss(signal, waitMs);
      }
    }
  };
  return {
    /** Opens the stream; repeated calls do nothing. */
    start(): void {
      if (isStarted) return;
      isStarted = true;
      void follow();
    },
    stop: () => signal.abort(sessionOver),
  };
}
