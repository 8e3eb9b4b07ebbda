import type { Clock } from '../../src/domain/clock.ts';
import { promptClock } from '../../src/runtime/real-clock.ts';

interface Timer {
  readonly dueAtMs: number;
  readonly real: unknown;
  readonly callback: () => void;
}

/** The machine's time, of which a test can skip a part: real connections, and no waiting. */
export class SkippingClock implements Clock {
  readonly #timers = new Set<Timer>();
  #skippedMs = 0;

  readonly now = (): number => promptClock.now() + this.#skippedMs;

  readonly wallNow = (): number => promptClock.wallNow() + this.#skippedMs;

  readonly setTimeout = (callback: () => void, delayMs: number): unknown => {
    const timer: Timer = {
      dueAtMs: this.now() + delayMs,
      real: promptClock.setTimeout(() => this.#fire(timer), delayMs),
      callback,
    };
    this.#timers.add(timer);
    return timer;
  };

  readonly clearTimeout = (handle: unknown): void => {
    const timer = handle as Timer;
    if (this.#timers.delete(timer)) promptClock.clearTimeout(timer.real);
  };

  /**
   * Fires what is due in this time, one timer after another.
   *
   * @param settled - resolves once the effects of a timer have arrived
   */
  async skip(ms: number, settled: () => Promise<unknown>): Promise<void> {
    const endMs = this.now() + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ dueAtMs }) => dueAtMs <= endMs);
      const [next] = due.toSorted((one, other) => one.dueAtMs - other.dueAtMs);
      if (next === undefined) break;
      this.#skippedMs += Math.max(0, next.dueAtMs - this.now());
      this.#fire(next);
      await settled();
    }
    this.#skippedMs += Math.max(0, endMs - this.now());
  }

  #fire(timer: Timer): void {
    this.clearTimeout(timer);
    timer.callback();
  }
}
