/**
 * Cuts a byte stream into lines. Bytes are joined once per line, so that a long
 * line in many chunks costs no more than in one; a line above the cap is
 * reported once and ends the reading.
 */

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export interface LineReader {
  push(chunk: Buffer): void;
  /** Hands out a last line that has no line end. */
  end(): void;
}

export function createLineReader(
  maxLineBytes: number,
  onLine: (line: string) => void,
  onTooLong: () => void,
): LineReader {
  let parts: Buffer[] = [];
  let heldBytes = 0;
  let isFirst = true;
  let isStopped = false;

  const emit = (): void => {
    let line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, heldBytes);
    parts = [];
    heldBytes = 0;
    if (line.at(-1) === carriageReturn) line = line.subarray(0, -1);
    const text = line.toString('utf8');
    // Some servers on Windows open their output with a byte order mark.
    onLine(isFirst && text.startsWith('\ufeff') ? text.slice(1) : text);
    isFirst = false;
  };

  const hold = (part: Buffer): boolean => {
    heldBytes += part.length;
    if (heldBytes > maxLineBytes) {
      isStopped = true;
      parts = [];
      onTooLong();
      return false;
    }
    parts.push(part);
    return true;
  };

  return {
    push(chunk) {
      let start = 0;
      while (!isStopped && start < chunk.length) {
        const end = chunk.indexOf(lineFeed, start);
        if (end === -1) {
          hold(chunk.subarray(start));
          return;
        }
        if (!hold(chunk.subarray(start, end))) return;
        emit();
        start = end + 1;
      }
    },
    end() {
      if (!isStopped && heldBytes > 0) emit();
      isStopped = true;
    },
  };
}
