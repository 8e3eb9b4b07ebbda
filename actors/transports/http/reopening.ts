/**
 * Decides when a stream that has ended is opened again. The waits double while it
 * keeps being lost, whatever the server says of them, within bounds; a random part
 * keeps those who lost one server together from coming back together. One per stream.
 */

import type { Clock } from '../../../src/domain/clock.ts';

const shortestMs = 1_000;
const longestMs = 300_000;
// A stream that held for a minute was a good one: proxies cut idle streams about so often.
const goodStreamMs = 60_000;
// Enough to spread many clients, too little to be noticed by one.
const jitterShare = 0.25;

export class Reopening {
  readonly #clock: Clock;
  readonly #random: () => number;
  #openedAt = Number.NEGATIVE_INFINITY;
  /** How often it was lost soon after it had been opened. */
  #inARow = 0;

  /** `random` gives 0 to 1. */
  constructor(clock: Clock, random: () => number = Math.random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** The stream was lost or refused. Resolves when it may be opened, or when the signal is aborted. */
  afterLoss(signal: AbortSignal, askedMs = 0): Promise<void> {
    const hasHeld = this.#clock.now() - this.#openedAt > goodStreamMs;
    this.#inARow = hasHeld ? 0 : this.#inARow + 1;
    return this.#wait(signal, Math.max(shortestMs * 2 ** Math.min(this.#inARow, 16), askedMs));
  }

  /** The server ended the stream in order to be asked again: it says itself how soon. */
  afterPause(signal: AbortSignal, askedMs: number): Promise<void> {
    // The next loss is the first in a row.
    this.#inARow = -1;
    return this.#wait(signal, Math.max(shortestMs, askedMs));
  }

  #wait(signal: AbortSignal, plainMs: number): Promise<void> {
    const waitMs = Math.min(longestMs, plainMs * (1 + jitterShare * this.#random()));
    return new Promise((resolve) => {
      const end = (): void => {
        this.#clock.clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.#openedAt = this.#clock.now();
        resolve();
      };
      const timer = this.#clock.setTimeout(end, waitMs);
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
    });
  }
}
