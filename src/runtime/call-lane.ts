import type { TroupeError } from '../domain/troupe-error.ts';

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

  /** Takes a place at work: at once, or by `turn`, which then already holds it. */
  takePlace(turn: () => void): void {
    if (this.#places < maxAtWork) {
      this.#places += 1;
      turn();
    } else {
      this.#line.push(turn);
    }
  }

  giveUpTurn(turn: () => void): void {
    const index = this.#line.indexOf(turn);
    if (index >= 0) this.#line.splice(index, 1);
  }

  /** Hands the place to the next in line; it is never free while somebody waits. */
  returnPlace(): void {
    const next = this.#line.shift();
    if (next === undefined) this.#places -= 1;
    else next();
  }
}
