/**
 * Updates a block of lines at the end of a terminal, with log lines scrolling above it.
 *
 * Each frame is one write that moves up to the block's first line and overwrites every line. Nothing is
 * cleared first, so nothing flickers.
 */

const hideCursor = '\u001b[?25l';
const showCursor = '\u001b[?25h';
const eraseRestOfLine = '\u001b[K';
const eraseBelow = '\u001b[J';
const clearAll = '\u001b[2J\u001b[H';

/** Draws through `write`; lines must already fit the terminal's width. */
export class LiveScreen {
  readonly #write: (text: string) => void;
  #block: readonly string[] = [];
  #drawn = 0;
  #begun = false;
  /** The frame on the screen; undefined once the terminal may have moved it. */
  #last: string | undefined = '';

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** Replaces the block. */
  show(lines: readonly string[]): void {
    this.#block = lines;
    this.#draw([]);
  }

  /** Adds permanent lines above the block. */
  log(lines: readonly string[]): void {
    if (lines.length > 0) this.#draw(lines);
  }

  /** Redraws everything, because a resize moved what was on the terminal. */
  resized(): void {
    this.#last = undefined;
    this.#draw([], clearAll);
  }

  /** Removes the block, keeps the log lines, and shows the cursor again. */
  end(): void {
    if (this.#begun) this.#write(`${this.#toFirstLine()}${eraseBelow}${showCursor}`);
    this.#begun = false;
    this.#drawn = 0;
    this.#block = [];
    this.#last = undefined;
  }

  #draw(above: readonly string[], start = this.#toFirstLine()): void {
    const frame = [...above, ...this.#block].map((line) => `${line}${eraseRestOfLine}\n`).join('');
    if (above.length === 0 && frame === this.#last) return;
    this.#last = above.length === 0 ? frame : '';
    this.#write(`${this.#begun ? '' : hideCursor}${start}${frame}${eraseBelow}`);
    this.#begun = true;
    this.#drawn = this.#block.length;
  }

  #toFirstLine(): string {
    return this.#drawn > 0 ? `\u001b[${this.#drawn}A\r` : '';
  }
}
