/**
 * The stream on which a Streamable HTTP server says what it was not asked. A
 * server need not have one. One that ends is opened again for as long as the
 * session lasts, ever more rarely while it keeps ending.
 */

import type { Clock } from '../src/domain/clock.ts';
import { eventIdOf, isBusy, isEventStream, isMessageEvent, readEvents } from './http-events.ts';
import { createReopening, type Reopening } from './http-reopening.ts';

export interface NewsSetup {
  readonly clock: Clock;
  /** Asks for the stream; what the server tells after this event is told again. */
  readonly ask: (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>;
  /** How long the last refusal asks to be left alone, in milliseconds. */
  readonly askedWaitMs: () => number | undefined;
  readonly onMessage: (text: string) => void;
  /** The stream ended or could not be opened: perhaps the server is gone. */
  readonly onDoubt: () => void;
}

export class NewsStream {
  readonly #setup: NewsSetup;
  readonly #reopening: Reopening;
  readonly #controller = new AbortController();
  #isStarted = false;
  #hasOpened = false;
  #lastEventId: string | undefined;
  #retryMs = 0;

  constructor(setup: NewsSetup) {
    this.#setup = setup;
    this.#reopening = createReopening(setup.clock, setup.onDoubt);
  }

  /** Opens the stream; repeats do nothing. */
  start(): void {
    if (this.#isStarted || this.#controller.signal.aborted) return;
    this.#isStarted = true;
    void this.#open();
  }

  stop(): void {
    this.#reopening.stop();
    this.#controller.abort();
  }

  async #open(): Promise<void> {
    let waitMs: number | undefined;
    try {
      waitMs = await this.#read();
    } catch {
      waitMs = this.#retryMs;
    }
    if (this.#controller.signal.aborted) return;
    if (waitMs !== undefined) this.#reopening.schedule(() => void this.#open(), waitMs, 0);
    // Had it been there before, then whoever answers now may know nothing of this session.
    else if (this.#hasOpened) this.#setup.onDoubt();
  }

  /** How long the server wants to be left alone; nothing when it has no such stream. */
  async #read(): Promise<number | undefined> {
    const response = await this.#setup.ask(this.#lastEventId, this.#controller.signal);
    const { ok, body } = response;
    if (!ok || body === null || !isEventStream(response)) {
      await body?.cancel();
      return isBusy(response) ? (this.#setup.askedWaitMs() ?? this.#retryMs) : undefined;
    }
    this.#hasOpened = true;
    await readEvents(body, {
      onEvent: (event) => {
        if (this.#controller.signal.aborted) return;
        this.#lastEventId = eventIdOf(event, this.#lastEventId);
        if (isMessageEvent(event)) this.#setup.onMessage(event.data);
      },
      onRetry: (ms) => {
        this.#retryMs = ms;
      },
    });
    return this.#retryMs;
  }
}
