import type { Clock } from '../domain/clock.ts';

/** Where a {@link VirtualClock} starts. */
export interface VirtualClockOptions {
  /** Monotonic milliseconds at the start. Default 0, so that a trace reads as time since the start. */
  readonly nowMs?: number;
  /** Wall time at the start, in milliseconds since 1970. Default 2026-01-01T00:00:00Z. */
  readonly wallMs?: number;
}

const defaultWallMs = 1_767_225_600_000;

interface Timer {
  readonly deadlineMs: number;
  readonly callback: () => void;
}

// No real script fires a million callbacks in one advance, which takes about a second; a timer that
// sets itself again without delay does.
const callbackLimitCount = 1_000_000;

/**
 * A clock that a test moves; a troupe with this clock never waits.
 *
 * Timers fire by deadline, equal deadlines in the order they were set. While a
 * callback runs, `now()` is its deadline, so a timer that it sets counts from
 * there and fires within the same advance when due. Delays may exceed the
 * 2^31 - 1 ms of real timers; a negative delay is 0; NaN and infinite delays
 * throw, because real timers would fire at once and hide the mistake.
 *
 * A throwing callback neither stops the advance nor loses other timers: the
 * error is thrown when the advance is over, several as one `AggregateError`.
 */
export class VirtualClock implements Clock {
  /** In the order in which they fire. */
  readonly #timers: Timer[] = [];
  readonly #wallOffsetMs: number;
  #nowMs: number;
  #isAdvancing = false;

  constructor(options: VirtualClockOptions = {}) {
    this.#nowMs = options.nowMs ?? 0;
    this.#wallOffsetMs = (options.wallMs ?? defaultWallMs) - this.#nowMs;
  }

  /** Number of timers that are set and have not fired. */
  get pendingCount(): number {
    return this.#timers.length;
  }

  /** Time at which the next timer fires, or undefined when none is set. */
  get nextDeadlineMs(): number | undefined {
    return this.#timers[0]?.deadlineMs;
  }

  // The four methods of Clock are properties because XState takes `setTimeout`
  // and `clearTimeout` off the clock and calls them without it.

  /** Returns monotonic milliseconds; moves only when the test moves it. */
  readonly now = (): number => this.#nowMs;

  /** Returns wall time in milliseconds since 1970. */
  readonly wallNow = (): number => this.#nowMs + this.#wallOffsetMs;

  /**
   * Sets a timer that fires once the test has moved time by the delay, in milliseconds.
   * @throws RangeError when the delay is not finite
   */
  readonly setTimeout = (callback: () => void, delayMs: number): unknown => {
    if (!Number.isFinite(delayMs))
      throw new RangeError(`a timer needs a finite delay, not ${delayMs}`);
    const timer: Timer = { deadlineMs: this.#nowMs + Math.max(0, delayMs), callback };
    this.#timers.splice(this.#countUntil(timer.deadlineMs), 0, timer);
    return timer;
  };

  /** Removes a timer; any other handle is ignored. */
  readonly clearTimeout = (handle: unknown): void => {
    const index = this.#timers.indexOf(handle as Timer);
    if (index >= 0) this.#timers.splice(index, 1);
  };

  /** Moves time forward by a number of milliseconds and fires what is due. */
  advanceBy(ms: number): void {
    this.advanceTo(this.#nowMs + ms);
  }

  /**
   * Moves time to a moment and fires what is due until then, cascades included.
   *
   * @throws RangeError when the moment is past or not finite; an error when called
   * from a timer; errors of timers, after all of them ran.
   */
  advanceTo(momentMs: number): void {
    const timers = this.#fireUntil(momentMs);
    while (timers.next().done !== true);
  }

  /**
   * Like {@link advanceBy}, but lets promises settle before the first timer, after
   * each timer, and at the end, so that timers set by awaiting code count too.
   */
  async advanceAndSettle(ms: number): Promise<void> {
    const timers = this.#fireUntil(this.#nowMs + ms);
    // One turn of the event loop drains the whole promise queue, however long its chains.
    while (timers.next().done !== true) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Moves time to the next deadline and fires that one timer. Returns false when none is set. */
  runNext(): boolean {
    const deadlineMs = this.nextDeadlineMs;
    if (deadlineMs === undefined) return false;
    this.#begin(deadlineMs);
    const errors = this.#fireFirst();
    this.#isAdvancing = false;
    throwAll(errors);
    return true;
  }

  /** Moves time to a moment and fires what is due; pauses before the first timer and after each. */
  *#fireUntil(momentMs: number): Generator<undefined, void> {
    this.#begin(momentMs);
    const errors: unknown[] = [];
    try {
      yield;
      for (let count = 0; (this.nextDeadlineMs ?? Infinity) <= momentMs; count += 1) {
        if (count >= callbackLimitCount)
          throw new Error(
            `${callbackLimitCount} timers fired in one advance; one of them sets itself again without delay`,
          );
        errors.push(...this.#fireFirst());
        yield;
      }
      this.#nowMs = momentMs;
    } finally {
      this.#isAdvancing = false;
    }
    throwAll(errors);
  }

  #begin(momentMs: number): void {
    // A nested advance would move time under the callback that runs now.
    if (this.#isAdvancing)
      throw new Error('time is already advancing; a timer must not advance it');
    if (!Number.isFinite(momentMs) || momentMs < this.#nowMs) {
      throw new RangeError(`time is at ${this.#nowMs} ms and cannot move to ${momentMs}`);
    }
    this.#isAdvancing = true;
  }

  /** Fires the next timer; returns what it threw. */
  #fireFirst(): readonly unknown[] {
    const first = this.#timers.shift();
    if (first === undefined) return [];
    this.#nowMs = first.deadlineMs;
    try {
      first.callback();
      return [];
    } catch (error) {
      return [error];
    }
  }

  /** Number of timers that fire until a moment; equal deadlines keep the order they were set in. */
  #countUntil(momentMs: number): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#timers[middle]?.deadlineMs ?? 0) <= momentMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function throwAll(errors: readonly unknown[]): void {
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, `${errors.length} timers threw`);
}
