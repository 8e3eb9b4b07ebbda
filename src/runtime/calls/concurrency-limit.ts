import type { TroupeError } from '../../domain/troupe-error.ts';
import { type WaitBounds, waitOnce } from '../wait-once.ts';

// Enough for any model's burst; further calls are queued. With 16, a fast server sleeps between
// calls, and each wake-up costs more than the call.
const maxActive = 64;
// As many again; a call further back would likely time out, so it is refused immediately.
const maxQueued = 64;

/** Bounds the active and the queued calls to one server. */
export class CallSemaphore {
  readonly #queue: (() => void)[] = [];
  readonly #onEmpty: () => void;
  readonly #mostActive: number;
  #active = 0;
  #inside = 0;

  /**
   * @param onEmpty - called whenever the last call has left
   * @param mostActive - how many may be active. Default: 64
   */
  constructor(onEmpty: () => void, mostActive = maxActive) {
    this.#onEmpty = onEmpty;
    this.#mostActive = mostActive;
  }

  get isEmpty(): boolean {
    return this.#inside === 0;
  }

  /** Admits a call to the queue, or throws the error that `refusal` creates. */
  enter(refusal: () => TroupeError): void {
    if (this.#inside >= maxActive + maxQueued) throw refusal();
    this.#inside += 1;
  }

  leave(): void {
    this.#inside -= 1;
    if (this.#inside === 0) this.#onEmpty();
  }

  /** Makes a call active if the limit allows it. */
  tryAcquire(): boolean {
    if (this.#active >= this.#mostActive) return false;
    this.#active += 1;
    return true;
  }

  /** Waits in the queue until the call is active. Resolves with false if the wait ended first. */
  async acquire(bounds: WaitBounds): Promise<boolean> {
    let isActive = false;
    await waitOnce(bounds, (wake) => {
      const turn = (): void => {
        isActive = true;
        wake();
      };
      this.#queue.push(turn);
      return () => {
        const index = this.#queue.indexOf(turn);
        if (index >= 0) this.#queue.splice(index, 1);
      };
    });
    return isActive;
  }

  /** Ends an active call and activates the next one in the queue, if any. */
  release(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#active -= 1;
    else next();
  }
}
