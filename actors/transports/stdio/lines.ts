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
  /** Bytes of the skipped line were scanned and dropped. */
  onSkippedBytes?(count: number): void;
  /** The skipped line has ended. */
  onSkipped(envelope: ReturnType<EnvelopeReader['envelope']>): void;
  /** Returns true when enough was read for now; absent = never. */
  isSpent?(): boolean;
}

export class LineReader {
  readonly #maxLineBytes: number;
  readonly #listeners: LineListeners;
  #parts: Buffer[] = [];
  /** Bytes of the current line, whether held or skipped. */
  #lineBytes = 0;
  #isFirst = true;
  #isStopped = false;
  #skipped: EnvelopeReader | undefined;
  /** Partly read chunks, in order, until reading may go on. */
  #held: Buffer[] = [];
  #hasEnded = false;

  constructor(maxLineBytes: number, listeners: LineListeners) {
    this.#maxLineBytes = maxLineBytes;
    this.#listeners = listeners;
  }

  /** Whether lines that have arrived wait for {@link goOn}. */
  get isHeld(): boolean {
    return this.#held.length > 0;
  }

  /** Hands out a chunk's lines, and holds the rest once enough was read. */
  push(chunk: Buffer): void {
    this.#held.push(chunk);
    if (this.#held.length === 1) this.goOn();
  }

  /** Hands out held lines until enough was read again. */
  goOn(): void {
    while (this.#held.length > 0) {
      const [first, ...others] = this.#held as [Buffer, ...Buffer[]];
      const rest = this.#read(first);
      this.#held = rest === undefined ? others : [rest, ...others];
      if (rest !== undefined) return;
    }
    if (this.#hasEnded) this.#finish();
  }

  /** Notes that no chunk follows; a last line without a line end is handed out after the others. */
  end(): void {
    this.#hasEnded = true;
    if (!this.isHeld) this.#finish();
  }

  #finish(): void {
    if (!this.#isStopped && this.#skipped === undefined && this.#lineBytes > 0) this.#emit();
    this.#isStopped = true;
  }

  /** Returns the part of the chunk that was not read because enough was. */
  #read(chunk: Buffer): Buffer | undefined {
    let start = 0;
    while (!this.#isStopped && start < chunk.length) {
      const end = chunk.indexOf(lineFeed, start);
      if (end === -1) {
        this.#take(chunk.subarray(start));
        return undefined;
      }
      if (!this.#take(chunk.subarray(start, end))) return undefined;
      this.#emit();
      start = end + 1;
      if (this.#listeners.isSpent?.() === true) break;
    }
    return this.#isStopped || start >= chunk.length ? undefined : chunk.subarray(start);
  }

  #take(part: Buffer): boolean {
    this.#lineBytes += part.length;
    if (this.#skipped !== undefined) {
      if (this.#lineBytes > this.#maxLineBytes * skippedLines) return this.#stop();
      this.#skipped.push(part);
      this.#listeners.onSkippedBytes?.(part.length);
      return true;
    }
    // An empty part would hide how the line begins.
    if (part.length > 0) this.#parts.push(part);
    return this.#lineBytes <= this.#maxLineBytes || this.#skip();
  }

  /** Drops the held part of the line, and reads on without holding more. */
  #skip(): boolean {
    const isMessage = this.#parts[0]?.[0] === openBrace;
    if (!isMessage || this.#lineBytes > this.#maxLineBytes * skippedLines) return this.#stop();
    this.#skipped = new EnvelopeReader();
    for (const part of this.#parts) this.#skipped.push(part);
    this.#parts = [];
    this.#listeners.onSkipping();
    this.#listeners.onSkippedBytes?.(this.#lineBytes);
    return true;
  }

  #stop(): false {
    this.#isStopped = true;
    this.#parts = [];
    this.#skipped = undefined;
    this.#listeners.onTooLong();
    return false;
  }

  #emit(): void {
    const envelope = this.#skipped?.envelope();
    const [only] = this.#parts;
    const bytes = this.#parts.length === 1 && only ? only : Buffer.concat(this.#parts);
    this.#skipped = undefined;
    this.#parts = [];
    this.#lineBytes = 0;
    if (envelope !== undefined) return this.#listeners.onSkipped(envelope);
    const line = bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes;
    const text = line.toString('utf8');
    // Some servers on Windows open their output with a byte order mark.
    this.#listeners.onLine(this.#isFirst && text.startsWith('\ufeff') ? text.slice(1) : text);
    this.#isFirst = false;
  }
}
