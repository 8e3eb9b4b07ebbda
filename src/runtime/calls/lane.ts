import type { TroupeError } from '../../domain/troupe-error.ts';
import { type WaitBounds, waitOnce } from '../wait-once.ts';

// Enough for any model's burst; a server that needs more is better asked in turn.
const maxAtWork = 16;
// Four rounds of the above: whoever stands further back is better told at once.
const maxInLine = 64;

/** Bounds the calls to one server: so many at work, so many waiting. */
export class CallLane {
  readonly #line: (() => void)[] = [];
  #places = 0;
  #inside = 0;

  get isEmpty(): boolean {
    return this.#inside === 0;
  }

  /** Lets a call in, or throws what `refusal` makes. Whoever entered leaves again. */
  enter(refusal: () => TroupeError): void {
    if (this.#inside >= maxAtWork + maxInLine) throw refusal();
    this.#inside += 1;
  }

  leave(): void {
    this.#inside -= 1;
  }

  /** Takes a place at work when one is free. */
  takesPlace(): boolean {
    if (this.#places >= maxAtWork) return false;
    this.#places += 1;
    return true;
  }

  /** Waits in line for a place, which it then holds; false when the wait ended without one. */
  async waitForPlace(bounds: WaitBounds): Promise<boolean> {
    let hasPlace = false;
    await waitOnce(bounds, (wake) => {
      const turn = (): void => {
        hasPlace = true;
        wake();
      };
      this.#line.push(turn);
      return () => {
        const index = this.#line.indexOf(turn);
        if (index >= 0) this.#line.splice(index, 1);
      };
    });
    return hasPlace;
  }

  /** Hands the place to the next in line; it is never free while somebody waits. */
  returnPlace(): void {
    const next = this.#line.shift();
    if (next === undefined) this.#places -= 1;
    else next();
  }
}
