/** Splits a byte stream into lines of limited length. */

export interface LineReader {
  /** Adds bytes and reports every line they complete. */
  push(chunk: Buffer): void;
}

/**
 * Reports whole lines without their line end. The first line longer than `maxBytes` calls `onTooLong`;
 * everything after it is ignored.
 */
export function createLineReader(
  maxBytes: number,
  onLine: (line: string) => void,
  onTooLong: () => void,
): LineReader {
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let overflowed = false;
  return {
    push(chunk) {
      let start = 0;
      while (!overflowed && start < chunk.length) {
        const end = chunk.indexOf(0x0a, start);
        const part = chunk.subarray(start, end === -1 ? chunk.length : end);
        if (keptBytes + part.length > maxBytes) {
          overflowed = true;
          kept = [];
          onTooLong();
          return;
        }
        kept.push(part);
        keptBytes += part.length;
        if (end === -1) return;
        const line = Buffer.concat(kept).toString('utf8').replace(/\r$/, '');
        kept = [];
        keptBytes = 0;
        start = end + 1;
        onLine(line);
      }
    },
  };
}
