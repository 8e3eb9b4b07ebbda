/** Reads JSON documents from a socket, one per line. */

import type { Socket } from 'node:net';
import { parsedJson } from '../../domain/data/parsed-json.ts';

/**
 * Reports each document, and undefined for a line that is not JSON; ignores empty lines. The first line
 * longer than `maxBytes` calls `onTooLong`; everything after it is ignored.
 * @returns how to stop reading
 */
export function readJsonLines(
  socket: Socket,
  maxBytes: number,
  onDocument: (document: unknown) => void,
  onTooLong: () => void,
): () => void {
  let parts: Buffer[] = [];
  let bytes = 0;
  let overflowed = false;
  const onData = (chunk: Buffer): void => {
    let start = 0;
    while (!overflowed && start < chunk.length) {
      const end = chunk.indexOf('\n', start);
      const part = chunk.subarray(start, end === -1 ? chunk.length : end);
      parts.push(part);
      bytes += part.length;
      if (bytes > maxBytes) {
        overflowed = true;
        parts = [];
        onTooLong();
        return;
      }
      if (end === -1) return;
      const line = Buffer.concat(parts).toString('utf8').trim();
      parts = [];
      bytes = 0;
      start = end + 1;
      if (line !== '') onDocument(parsedJson(line));
    }
  };
  socket.on('data', onData);
  return () => void socket.off('data', onData);
}
