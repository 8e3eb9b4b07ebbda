/**
 * The stream on which a Streamable HTTP server says what it was not asked. A
 * server need not have one. One that ends is opened again for as long as the
 * session lasts, ever more rarely while it keeps being lost.
 */

import type { Clock } from '../../../src/domain/clock.ts';
import type { InputBudget } from '../connection/input-budget.ts';
import { Bookmark } from './bookmark.ts';
import { Reopening } from './reopening.ts';

// Nobody waits for news: a server that wants to be asked more often is not.
const shortestPauseMs = 5_000;

export interface NewsSetup {
  readonly clock: Clock;
  readonly budget: InputBudget;
  /** Asks for the stream; what the server tells after this event is told again. */
  readonly ask: (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>;
  readonly onMessage: (text: string) => void;
  /** The stream was lost or could not be opened: perhaps the server is gone. */
  readonly onDoubt: () => void;
  /** What the server said while there was no stream is lost. */
  readonly onGap: () => void;
}

export class NewsStream {
  readonly #setup: NewsSetup;
  readonly #reopening: Reopening;
  readonly #bookmark: Bookmark;
  readonly #controller = new AbortController();
  #isStarted = false;
  #hasOpened = false;
  /** There was a time without a stream, and nothing marks where it began. */
  #hasGap = false;

  constructor(setup: NewsSetup) {
    this.#setup = setup;
    const { clock, budget, onMessage } = setup;
    this.#reopening = new Reopening(clock);
    this.#bookmark = new Bookmark({ clock, budget, signal: this.#controller.signal, onMessage });
  }

  /** Opens the stream; repeats do nothing. */
  start(): void {
    if (this.#isStarted || this.#controller.signal.aborted) return;
    this.#isStarted = true;
    void this.#follow();
  }

  stop(): void {
    this.#controller.abort();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#controller;
    const { ask, onDoubt } = this.#setup;
    while (!signal.aborted) {
      const end = await this.#bookmark.follow(ask(this.#bookmark.lastEventId, signal), () => {
        this.#hasOpened = true;
        this.#closeGap();
      });
      if (signal.aborted) return;
      const { lastEventId, waitMs } = this.#bookmark;
      this.#hasGap = lastEventId === undefined;
      if (end === 'absent') return this.#giveUp();
      if (end === 'paused')
        await this.#reopening.afterPause(signal, Math.max(shortestPauseMs, waitMs));
      else {
        onDoubt();
        await this.#reopening.afterLoss(signal, waitMs);
      }
    }
  }

  #giveUp(): void {
    if (!this.#hasOpened) return;
    this.#closeGap();
    // It had been there: then whoever answers now may know nothing of this session.
    this.#setup.onDoubt();
  }

  #closeGap(): void {
    if (this.#hasGap && !this.#controller.signal.aborted) this.#setup.onGap();
    this.#hasGap = false;
  }
}
