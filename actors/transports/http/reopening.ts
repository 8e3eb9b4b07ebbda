/**
 * Decides when a stream that has ended is reopened. The delays double while the stream keeps being
 * lost, within bounds, whatever the server requests; jitter keeps clients that lost the same server
 * at once from returning at once. Each stream has its own.
 */

import type { Clock } from '../../../src/domain/clock.ts';
import type { Abortable } from '../../host/abort.ts';
import { pause } from '../../host/time-limit.ts';

const shortestMs = 1_000;
const longestMs = 300_000;
// A stream that lasted a minute counts as good: proxies cut idle streams about that often.
const goodStreamMs = 60_000;
// Spreads many clients without a noticeable delay for any one of them.
const jitterShare = 0.25;

export class Reopening {
  readonly #clock: Clock;
  readonly #random: () => number;
  #openedAt = Number.NEGATIVE_INFINITY;
  /** Number of consecutive losses, each soon after opening. */
  #inARow = 0;

  /** `random` returns 0 to 1. */
  constructor(clock: Clock, random: () => number = Math.random) {
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Called when the stream was lost or refused. Resolves when it may be opened, or when the signal
   * is aborted.
   */
  afterLoss(signal: Abortable, askedMs = 0): Promise<void> {
    const hasHeld = this.#clock.now() - this.#openedAt > goodStreamMs;
    this.#inARow = hasHeld ? 0 : this.#inARow + 1;
    return this.#wait(signal, Math.max(shortestMs * 2 ** Math.min(this.#inARow, 16), askedMs));
  }

  /** Called when the server ended the stream on purpose and requested when to reopen it. */
  afterPause(signal: Abortable, askedMs: number): Promise<void> {
    // The next loss is the first of a new series.
    this.#inARow = -1;
    return this.#wait(signal, Math.max(shortestMs, askedMs));
  }

  async #wait(signal: Abortable, plainMs: number): Promise<void> {
    const waitMs = Math.min(longestMs, plainMs * (1 + jitterShare * this.#random()));
    await pause(this.#clock, waitMs, signal);
    this.#openedAt = this.#clock.now();
  }
}
