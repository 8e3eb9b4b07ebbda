/**
 * Cuts a byte stream into lines. Bytes are joined once per line, so that a long line costs
 * the same in many chunks as in one. A line above the limit is not held: if it looks like a
 * message it is skipped to its end, within bounds, and only its envelope is reported. Any
 * other such line is reported once and ends the reading.
 */

import { EnvelopeReader } from '../connection/messages.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const openBrace = 0x7b;
// An answer with everything in it is a few times the limit. A longer line may never end.
const skippedLines = 4;

export interface LineListeners {
  onLine(line: string): void;
  /** Nothing more can be read. */
  onTooLong(): void;
  /** A line is being skipped; nothing else can be read before it ends. */
  onSkipping(): void;
  /** So many bytes of it were scanned and dropped. */
  onSkippedBytes?(count: number): void;
  /** The skipped line has ended. */
  onSkipped(envelope: ReturnType<EnvelopeReader['envelope']>): void;
  /** Returns true when enough was read for now; absent = never. */
  isSpent?(): boolean;
}

export type LineReader = ReturnType<typeof createLineReader>;

export function createLineReader(maxLineBytes: number, listeners: LineListeners) {
  let parts: Buffer[] = [];
  let heldBytes = 0;
  let isFirst = true;
  let isStopped = false;
  let skipped: EnvelopeReader | undefined;

  const emit = (): void => {
    if (skipped !== undefined) {
      const envelope = skipped.envelope();
      skipped = undefined;
      heldBytes = 0;
      listeners.onSkipped(envelope);
      return;
    }
    let line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, heldBytes);
    parts = [];
    heldBytes = 0;
    if (line.at(-1) === carriageReturn) line = line.subarray(0, -1);
    const text = line.toString('utf8');
    // Some servers on Windows open their output with a byte order mark.
    listeners.onLine(isFirst && text.startsWith('\ufeff') ? text.slice(1) : text);
    isFirst = false;
  };

  const stop = (): false => {
    isStopped = true;
    parts = [];
    skipped = undefined;
    listeners.onTooLong();
    return false;
  };

  /** Drops the held part of the line, and reads on without holding more. */
  const skip = (): boolean => {
    if (parts[0]?.[0] !== openBrace || heldBytes > maxLineBytes * skippedLines) return stop();
    skipped = new EnvelopeReader();
    for (const part of parts) skipped.push(part);
    parts = [];
    listeners.onSkipping();
    listeners.onSkippedBytes?.(heldBytes);
    return true;
  };

  const hold = (part: Buffer): boolean => {
    heldBytes += part.length;
    if (skipped !== undefined) {
      if (heldBytes > maxLineBytes * skippedLines) return stop();
      skipped.push(part);
      listeners.onSkippedBytes?.(part.length);
      return true;
    }
    // An empty part would hide how the line begins.
    if (part.length > 0) parts.push(part);
    return heldBytes <= maxLineBytes || skip();
  };

  /** Returns the part of the chunk that was not read because enough was. */
  const read = (chunk: Buffer): Buffer | undefined => {
    let start = 0;
    while (!isStopped && start < chunk.length) {
      const end = chunk.indexOf(lineFeed, start);
      if (end === -1) {
        hold(chunk.subarray(start));
        return undefined;
      }
      if (!hold(chunk.subarray(start, end))) return undefined;
      emit();
      start = end + 1;
      if (listeners.isSpent?.() === true) break;
    }
    return isStopped || start >= chunk.length ? undefined : chunk.subarray(start);
  };

  const finish = (): void => {
    if (!isStopped && skipped === undefined && heldBytes > 0) emit();
    isStopped = true;
  };

  // Partly read chunks, in order, until reading may go on.
  let waiting: Buffer[] = [];
  let hasEnded = false;
  const goOn = (): void => {
    while (waiting.length > 0) {
      const [first, ...others] = waiting as [Buffer, ...Buffer[]];
      const rest = read(first);
      waiting = rest === undefined ? others : [rest, ...others];
      if (rest !== undefined) return;
    }
    if (hasEnded) finish();
  };
  return {
    /** Whether lines that have arrived wait for {@link goOn}. */
    get isHeld(): boolean {
      return waiting.length > 0;
    },
    /** Hands out held lines until enough was read again. */
    goOn,
    /** Hands out a chunk's lines, and holds the rest once enough was read. */
    push(chunk: Buffer): void {
      waiting.push(chunk);
      if (waiting.length === 1) goOn();
    },
    /** Notes that no chunk follows; a last line without a line end is handed out after the others. */
    end(): void {
      hasEnded = true;
      if (waiting.length === 0) finish();
    },
  };
}
