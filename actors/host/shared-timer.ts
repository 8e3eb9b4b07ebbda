/**
 * Runs any number of timers on one timer of the clock, for timers that are nearly always cleared
 * before they are due. Clearing them leaves the clock's timer set; when it fires, it is set again for
 * the next one, if any.
 */

import type { Clock } from '../../src/domain/clock.ts';

interface Pending {
  readonly callback: () => void;
  readonly dueAt: number;
}

// Timers count whole milliseconds, so one may fire a fraction too early.
const toleranceMs = 1;

/** A clock whose timers keep no process alive. */
export class SharedTimer implements Clock {
  readonly #clock: Clock;
  readonly #open = new Set<unknown>();
  #timer: unknown;
  /** When the timer fires; Infinity without one. */
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  wallNow(): number {
    return this.#clock.wallNow();
  }

  setTimeout(callback: () => void, delayMs: number): unknown {
    const now = this.#clock.now();
    const pending: Pending = { callback, dueAt: now + delayMs };
    this.#open.add(pending);
    if (pending.dueAt < this.#timerAt) this.#setTimer(pending.dueAt, now);
    return pending;
  }

  clearTimeout(handle: unknown): void {
    this.#open.delete(handle);
  }

  /** Clears all timers. */
  stop(): void {
    this.#open.clear();
    this.#clearTimer();
  }

  #setTimer(dueAt: number, now: number): void {
    this.#clearTimer();
    this.#timerAt = dueAt;
    this.#timer = this.#clock.setTimeout(() => this.#fire(), dueAt - now);
    (this.#timer as Partial<NodeJS.Timeout> | undefined)?.unref?.();
  }

  #clearTimer(): void {
    if (this.#timer !== undefined) this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  #fire(): void {
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    let nextAt = Number.POSITIVE_INFINITY;
    for (const pending of [...this.#open] as Pending[]) {
      if (pending.dueAt > now + toleranceMs) nextAt = Math.min(nextAt, pending.dueAt);
      // An earlier callback may have cleared it.
      else if (this.#open.delete(pending)) pending.callback();
    }
    if (nextAt < this.#timerAt && this.#open.size > 0) this.#setTimer(nextAt, now);
  }
}
