/**
 * Splits a byte stream into lines. Bytes are joined once per line, so a long line costs the same in
 * many chunks as in one. A line above the limit is not kept: if it looks like a message, it is
 * skipped to its end, within bounds, and only its envelope is reported. Any other such line is
 * reported once and ends the reading.
 */

import { EnvelopeReader } from '../../../src/protocol/messages.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const openBrace = 0x7b;
// A response that contains everything is a few times the limit. A longer line may never end.
const skippedLines = 4;

export interface LineListeners {
  onLine(line: string): void;
  /** Called when nothing more can be read. */
  onTooLong(): void;
  /** Called when a line is being skipped; nothing else can be read before it ends. */
  onSkipping(): void;
  /** Called when bytes of the skipped line have been scanned and dropped. */
  onSkippedBytes?(count: number): void;
  /** Called when the skipped line has ended. */
  onSkipped(envelope: ReturnType<EnvelopeReader['envelope']>): void;
  /** Returns true once enough has been read for now; if absent, that is never the case. */
  isSpent?(): boolean;
}

export class LineReader {
  readonly #maxLineBytes: number;
  readonly #listeners: LineListeners;
  #parts: Buffer[] = [];
  /** Bytes of the current line, whether kept or skipped. */
  #lineBytes = 0;
  #isFirst = true;
  /** `ended`: no more chunks follow, but kept ones may; `finished`: nothing more is read. */
  #input: 'open' | 'ended' | 'finished' = 'open';
  #skipped: EnvelopeReader | undefined;
  /** Partly read chunks, in order, kept until reading may continue. */
  #held: Buffer[] = [];

  constructor(maxLineBytes: number, listeners: LineListeners) {
    this.#maxLineBytes = maxLineBytes;
    this.#listeners = listeners;
  }

  /** Whether lines that have arrived are waiting for {@link goOn}. */
  get isHeld(): boolean {
    return this.#held.length > 0;
  }

  /** Passes on a chunk's lines, and keeps the rest once enough has been read. */
  push(chunk: Buffer): void {
    const rest = this.isHeld ? chunk : this.#read(chunk);
    if (rest !== undefined) this.#held.push(rest);
  }

  /** Passes on kept lines until enough has been read again. */
  goOn(): void {
    while (this.isHeld) {
      const rest = this.#read(this.#held[0] as Buffer);
      if (rest !== undefined) {
        this.#held[0] = rest;
        return;
      }
      this.#held.shift();
    }
    if (this.#input === 'ended') this.#finish();
  }

  /**
   * Called when no more chunks follow; a last line without a line end is passed on after the
   * others.
   */
  end(): void {
    if (this.#input === 'finished') return;
    this.#input = 'ended';
    if (!this.isHeld) this.#finish();
  }

  #finish(): void {
    if (this.#skipped === undefined && this.#lineBytes > 0) this.#emit();
    this.#input = 'finished';
  }

  /** Returns the part of the chunk that was left unread because enough had been read. */
  #read(chunk: Buffer): Buffer | undefined {
    let start = 0;
    while (this.#input !== 'finished' && start < chunk.length) {
      const end = chunk.indexOf(lineFeed, start);
      if (end === -1) {
        this.#take(chunk.subarray(start));
        return undefined;
      }
      // Usually a chunk consists of whole lines.
      if (this.#lineBytes === 0 && end - start <= this.#maxLineBytes) this.#pass(chunk, start, end);
      else if (this.#take(chunk.subarray(start, end))) this.#emit();
      else return undefined;
      start = end + 1;
      if (this.#listeners.isSpent?.() === true) break;
    }
    return this.#input === 'finished' || start >= chunk.length ? undefined : chunk.subarray(start);
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

  /** Drops the kept part of the line, and reads on without keeping more. */
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
    this.#input = 'finished';
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
    this.#pass(bytes, 0, bytes.length);
  }

  /** Passes on the line between two positions. */
  #pass(bytes: Buffer, start: number, lineEnd: number): void {
    const end = bytes[lineEnd - 1] === carriageReturn ? lineEnd - 1 : lineEnd;
    const text = end > start ? bytes.toString('utf8', start, end) : '';
    // Some servers on Windows begin their output with a byte order mark.
    this.#listeners.onLine(this.#isFirst && text.startsWith('\ufeff') ? text.slice(1) : text);
    this.#isFirst = false;
  }
}
