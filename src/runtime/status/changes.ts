import type { StatusBoard } from './board.ts';

/** Remembers whether a server's status changed since it was last asked. */
export class StatusChanges {
  readonly #board: StatusBoard;
  readonly #server: string;
  #unwatch: (() => void) | undefined;
  #isNews = false;
  #wake: (() => void) | undefined;

  constructor(board: StatusBoard, server: string) {
    this.#board = board;
    this.#server = server;
  }

  /** True at the first call, which starts the watch, and after each change. */
  isNews(): boolean {
    if (this.#unwatch === undefined) {
      this.#unwatch = this.#board.watch(this.#server, () => {
        this.#isNews = true;
        this.#wake?.();
      });
      return true;
    }
    const isNews = this.#isNews;
    this.#isNews = false;
    return isNews;
  }

  onNext(wake: () => void): () => void {
    this.#wake = wake;
    return () => {
      this.#wake = undefined;
    };
  }

  end(): void {
    this.#unwatch?.();
  }
}
