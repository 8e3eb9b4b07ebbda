/** One timer that waits in a {@link DeadlineHeap}. */
export interface Timer {
  readonly deadlineMs: number;
  /** Counts up, so that timers with equal deadlines fire in the order they were set. */
  readonly sequence: number;
  readonly callback: () => void;
  /** Position in the heap, kept by the heap; -1 when the timer is not in it. */
  index: number;
}

/**
 * Keeps timers ordered by deadline, then by sequence.
 *
 * Each timer knows its position, so that a cancelled one leaves at once: charts
 * arm and cancel far more timers than ever fire, and dead entries would pile up.
 */
export class DeadlineHeap {
  readonly #timers: Timer[] = [];

  get size(): number {
    return this.#timers.length;
  }

  first(): Timer | undefined {
    return this.#timers[0];
  }

  add(timer: Timer): void {
    this.#place(timer, this.#timers.length);
    this.#rise(timer);
  }

  remove(timer: Timer): void {
    const hole = timer.index;
    if (hole < 0) return;
    timer.index = -1;
    const last = this.#timers.pop();
    if (last === undefined || last === timer) return;
    this.#place(last, hole);
    this.#rise(last);
    this.#sink(last);
  }

  #place(timer: Timer, index: number): void {
    this.#timers[index] = timer;
    timer.index = index;
  }

  #rise(timer: Timer): void {
    while (timer.index > 0) {
      const index = timer.index;
      const parent = this.#timers[(index - 1) >> 1];
      if (parent === undefined || !isEarlier(timer, parent)) return;
      this.#place(timer, parent.index);
      this.#place(parent, index);
    }
  }

  #sink(timer: Timer): void {
    for (;;) {
      const index = timer.index;
      const child = this.#earlierChild(index);
      if (child === undefined || !isEarlier(child, timer)) return;
      this.#place(timer, child.index);
      this.#place(child, index);
    }
  }

  #earlierChild(index: number): Timer | undefined {
    const left = this.#timers[2 * index + 1];
    const right = this.#timers[2 * index + 2];
    return left !== undefined && right !== undefined && isEarlier(right, left) ? right : left;
  }
}

function isEarlier(one: Timer, other: Timer): boolean {
  if (one.deadlineMs !== other.deadlineMs) return one.deadlineMs < other.deadlineMs;
  return one.sequence < other.sequence;
}
