/**
 * Limits a rate and allows short bursts.
 *
 * The bucket starts full with `burst` tokens and gains `perSecond` tokens a second. `take` may leave
 * the bucket in debt, for callers that learn the cost afterwards and then wait; `tryTake` never does.
 */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #filledAt = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
  }

  /**
   * Takes tokens, whether or not there are enough, and says whether there were.
   *
   * @param now - monotonic milliseconds
   */
  take(count: number, now: number): boolean {
    this.#fill(now);
    this.#tokens -= count;
    return this.#tokens >= 0;
  }

  /** Takes one token if there is one; never leaves a debt. */
  tryTake(now: number): boolean {
    this.#fill(now);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Milliseconds until the debt is paid; 0 without one. */
  waitMs(now: number): number {
    this.#fill(now);
    return this.#tokens >= 0 ? 0 : Math.ceil((-this.#tokens / this.#perSecond) * 1_000);
  }

  #fill(now: number): void {
    // The first call finds the bucket full, whatever the time.
    const gained = ((now - this.#filledAt) / 1_000) * this.#perSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + gained);
    this.#filledAt = now;
  }
}
