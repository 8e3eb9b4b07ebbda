import type { SessionHandle } from '../domain/session.ts';
import type { TroupeError } from '../domain/troupe-error.ts';

// Enough for any model's burst; a server that needs more is better asked in turn.
const maxAtWork = 16;
// Four rounds of the above: whoever stands further back is better told at once.
const maxInLine = 64;

/**
 * Bounds the calls to one server: so many at work, so many waiting. Counts the
 * calls at work by session, because the charts want the edges and not each call.
 */
export class CallLane {
  readonly #atWork = new Map<SessionHandle, number>();
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

  /** True at the edge: this is now the only call of its session. */
  began(handle: SessionHandle): boolean {
    const count = this.#atWork.get(handle) ?? 0;
    this.#atWork.set(handle, count + 1);
    return count === 0;
  }

  /** True at the edge: it was the last call of its session. */
  ended(handle: SessionHandle): boolean {
    const count = (this.#atWork.get(handle) ?? 1) - 1;
    if (count > 0) this.#atWork.set(handle, count);
    else this.#atWork.delete(handle);
    return count <= 0;
  }
}
