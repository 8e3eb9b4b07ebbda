/**
 * Updates a block of lines at the end of a terminal, with log lines scrolling above it.
 *
 * Each frame is one write that moves up to the block's first line and overwrites every line. Nothing is
 * cleared first, so nothing flickers.
 */

export interface LiveScreen {
  /** Replaces the block. */
  show(lines: readonly string[]): void;
  /** Adds permanent lines above the block. */
  log(lines: readonly string[]): void;
  /** Redraws everything, because a resize moved what was on the terminal. */
  resized(): void;
  /** Removes the block, keeps the log lines, and shows the cursor again. */
  end(): void;
}

const hideCursor = '\u001b[?25l';
const showCursor = '\u001b[?25h';
const eraseRestOfLine = '\u001b[K';
const eraseBelow = '\u001b[J';
const clearAll = '\u001b[2J\u001b[H';

/** Draws through `write`; lines must already fit the terminal's width. */
export function createLiveScreen(write: (text: string) => void): LiveScreen {
  let block: readonly string[] = [];
  let drawn = 0;
  let begun = false;
  let last = '';

  const draw = (above: readonly string[], fresh: boolean): void => {
    const frame = [...above, ...block].map((line) => `${line}${eraseRestOfLine}\n`).join('');
    if (above.length === 0 && !fresh && frame === last) return;
    last = above.length === 0 ? frame : '';
    const start = fresh ? clearAll : drawn > 0 ? `\u001b[${drawn}A\r` : '';
    write(`${begun ? '' : hideCursor}${start}${frame}${eraseBelow}`);
    begun = true;
    drawn = block.length;
  };

  return {
    show(lines) {
      block = lines;
      draw([], false);
    },
    log(lines) {
      if (lines.length > 0) draw(lines, false);
    },
    resized() {
      draw([], true);
    },
    end() {
      if (begun) write(`${drawn > 0 ? `\u001b[${drawn}A\r` : ''}${eraseBelow}${showCursor}`);
      begun = false;
      drawn = 0;
    },
  };
}
