import type { Clock } from '../domain/clock.ts';
import { DeadlineHeap, type Timer } from './deadline-heap.ts';

/** Where a {@link VirtualClock} starts. */
export interface VirtualClockOptions {
  /** Monotonic milliseconds at the start. Default 0, so that a trace reads as time since the start. */
  readonly nowMs?: number;
  /** Wall time at the start, in milliseconds since 1970. Default 2026-01-01T00:00:00Z. */
  readonly wallMs?: number;
}

const defaultWallMs = 1_767_225_600_000;

// A million callbacks in one advance is far beyond any real script, and takes
// about a second; what reaches it is a timer that sets itself again without delay.
const callbackLimitCount = 1_000_000;

/**
 * Counts time only when told to; a troupe with this clock never waits.
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
  readonly #heap = new DeadlineHeap();
  readonly #timers = new Map<number, Timer>();
  readonly #wallOffsetMs: number;
  #nowMs: number;
  #sequence = 0;
  #isAdvancing = false;

  constructor(options: VirtualClockOptions = {}) {
    this.#nowMs = options.nowMs ?? 0;
    this.#wallOffsetMs = (options.wallMs ?? defaultWallMs) - this.#nowMs;
  }

  /** Number of timers that are set and have not fired. */
  get pendingCount(): number {
    return this.#heap.size;
  }

  /** Time at which the next timer fires, or undefined when none is set. */
  get nextDeadlineMs(): number | undefined {
    return this.#heap.first()?.deadlineMs;
  }

  // The four methods of Clock are properties because XState takes `setTimeout`
  // and `clearTimeout` off the clock and calls them without it.
  readonly now = (): number => this.#nowMs;

  readonly wallNow = (): number => this.#nowMs + this.#wallOffsetMs;

  readonly setTimeout = (callback: () => void, delayMs: number): number => {
    if (!Number.isFinite(delayMs))
      throw new RangeError(`a timer needs a finite delay, not ${delayMs}`);
    const sequence = ++this.#sequence;
    const timer = { deadlineMs: this.#nowMs + Math.max(0, delayMs), sequence, callback, index: -1 };
    this.#timers.set(sequence, timer);
    this.#heap.add(timer);
    return sequence;
  };

  readonly clearTimeout = (handle: unknown): void => {
    const timer = typeof handle === 'number' ? this.#timers.get(handle) : undefined;
    if (timer !== undefined) this.#forget(timer);
  };

  /** Moves time forward by a number of milliseconds and fires what is due. */
  advanceBy(ms: number): void {
    this.advanceTo(this.#nowMs + ms);
  }

  /**
   * Moves time to a moment and fires what is due until then, cascades included.
   *
   * @throws RangeError when the moment is past or not finite; an error when called
   * from a timer; what timers threw, after all of them ran.
   */
  advanceTo(momentMs: number): void {
    this.#begin(momentMs);
    const errors: unknown[] = [];
    try {
      for (let count = 0; this.#isDue(momentMs); count += 1) {
        refuseEndless(count);
        this.#fireFirst(errors);
      }
      this.#nowMs = momentMs;
    } finally {
      this.#isAdvancing = false;
    }
    throwAll(errors);
  }

  /**
   * Like {@link advanceBy}, but lets promises settle before the first timer, after
   * each timer, and at the end, so that timers set by awaiting code count too.
   */
  async advanceAndSettle(ms: number): Promise<void> {
    const momentMs = this.#nowMs + ms;
    this.#begin(momentMs);
    const errors: unknown[] = [];
    try {
      await settlePromises();
      for (let count = 0; this.#isDue(momentMs); count += 1) {
        refuseEndless(count);
        this.#fireFirst(errors);
        await settlePromises();
      }
      this.#nowMs = momentMs;
    } finally {
      this.#isAdvancing = false;
    }
    throwAll(errors);
  }

  /** Moves time to the next deadline and fires that one timer. Returns false when none is set. */
  runNext(): boolean {
    const first = this.#heap.first();
    if (first === undefined) return false;
    this.#begin(first.deadlineMs);
    const errors: unknown[] = [];
    this.#fireFirst(errors);
    this.#isAdvancing = false;
    throwAll(errors);
    return true;
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

  #isDue(momentMs: number): boolean {
    const first = this.#heap.first();
    return first !== undefined && first.deadlineMs <= momentMs;
  }

  #fireFirst(errors: unknown[]): void {
    const first = this.#heap.first();
    if (first === undefined) return;
    this.#forget(first);
    this.#nowMs = first.deadlineMs;
    try {
      first.callback();
    } catch (error) {
      errors.push(error);
    }
  }

  #forget(timer: Timer): void {
    this.#heap.remove(timer);
    this.#timers.delete(timer.sequence);
  }
}

function refuseEndless(count: number): void {
  if (count >= callbackLimitCount) {
    throw new Error(
      `${callbackLimitCount} timers fired in one advance; one of them sets itself again without delay`,
    );
  }
}

// One turn of the event loop drains the whole promise queue, however long its chains.
function settlePromises(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function throwAll(errors: readonly unknown[]): void {
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, `${errors.length} timers threw`);
}
