/** Waits before a stream that has ended is opened again. Each stream has its own. */

import type { Clock } from '../../../src/domain/clock.ts';
import { reopenDelay } from '../../../src/policies/backoff.ts';
import type { Abortable } from '../../host/abort.ts';
import { pause } from '../../host/time-limit.ts';

export class Reopening {
  readonly #clock: Clock;
  readonly #random: () => number;
  #openedAt = Number.NEGATIVE_INFINITY;
  #losses = 0;

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
    return this.#wait(signal, this.#clock.now() - this.#openedAt, askedMs);
  }

  /** Called when the server ended the stream on purpose and requested when to reopen it. */
  afterPause(signal: Abortable, askedMs: number): Promise<void> {
    return this.#wait(signal, undefined, askedMs);
  }

  async #wait(signal: Abortable, heldMs: number | undefined, askedMs: number): Promise<void> {
    const { waitMs, losses } = reopenDelay(this.#losses, heldMs, askedMs, this.#random());
    this.#losses = losses;
    await pause(this.#clock, waitMs, signal);
    this.#openedAt = this.#clock.now();
  }
}
