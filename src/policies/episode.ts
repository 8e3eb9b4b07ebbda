/**
 * A period that lasts until something has not happened for a calm time.
 *
 * An episode that begins soon after the one before must stay calm for twice as long, up to a limit, so
 * that a status that follows it does not flap.
 */
export class Episode {
  readonly #shortestMs: number;
  readonly #longestMs: number;
  #calmMs: number;
  #lastAt = 0;
  /** When the one before ended; undefined during an episode. */
  #endedAt: number | undefined = Number.NEGATIVE_INFINITY;

  constructor(shortestMs: number, longestMs: number) {
    this.#shortestMs = shortestMs;
    this.#longestMs = longestMs;
    this.#calmMs = shortestMs;
  }

  /** Records that it happened; returns whether that begins an episode. */
  note(now: number): boolean {
    this.#lastAt = now;
    if (this.#endedAt === undefined) return false;
    const isSoon = now - this.#endedAt < this.#calmMs * 2;
    this.#calmMs = isSoon ? Math.min(this.#calmMs * 2, this.#longestMs) : this.#shortestMs;
    this.#endedAt = undefined;
    return true;
  }

  /** Returns the milliseconds of calm that are missing; at 0, the episode has ended. */
  leftMs(now: number): number {
    const leftMs = Math.max(0, this.#lastAt + this.#calmMs - now);
    if (leftMs === 0) this.#endedAt ??= now;
    return leftMs;
  }
}
