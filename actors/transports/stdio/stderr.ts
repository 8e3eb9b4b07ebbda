/**
 * Collects what a server process writes to stderr, or to stdout when it is not MCP. Keeps the last
 * lines, safe to print and without secrets, and passes all lines on at a bounded rate.
 *
 * The stream is always drained, and the cost of a line does not depend on the lines before it. Over
 * budget, further output is dropped unread and only counted. Its last lines are kept raw, so the
 * tail of a process that dies in a flood is still correct.
 */

import { StringDecoder } from 'node:string_decoder';

import { printableLine } from '../../../src/domain/data/printable.ts';
import { safeCut } from '../../../src/policies/text/redact.ts';
import { redactWords } from '../../../src/policies/text/redact-words.ts';
import { TokenBucket } from '../../../src/policies/token-bucket.ts';
import type { ConnectionSetup } from '../connection/connection.ts';

// Longer lines are cut: a failure shows twenty lines on a terminal, not a novel.
const lineCharacters = 2_000;
const unendedCharacters = lineCharacters * 4;
const tailLines = 20;
// The reason may be above a long text of help. More would be megabytes for a troupe of chatty servers.
const keptLines = 120;
// A chatty server logs tens of lines a second; a flood must not drown out other servers' lines.
const passedPerSecond = 200;
// A stack trace has a hundred lines, verbose startup output a thousand; redacting more would occupy
// a core.
const linesPerSecond = 1_000;
const bytesPerSecond = 1_048_576;
const limits = `${linesPerSecond} lines or 1 MB a second`;
// Dropped output is still read and its lines counted, which would occupy a core at full pipe speed.
// A million lines cost 20 ms; so do 64 MB in pieces of 64 bytes.
const drainedPerSecond = 1_000_000;
const drainedPieceBytes = 64;
// Enough for the last lines of dropped output.
const droppedTailBytes = 8_192;
const lineFeed = 0x0a;

function redactedLine(raw: string, secrets: readonly string[]): string {
  // Redact before cutting, or the first half of a secret stays.
  return printableLine(redactWords(raw, secrets), lineCharacters);
}

type RingSetup = Pick<ConnectionSetup, 'clock' | 'secrets' | 'events'>;

/**
 * A stream's newest lines. Created when a server first writes something: many servers write nothing,
 * and few write to both streams.
 */
export class OutputRing {
  readonly #setup: RingSetup;
  readonly #stream: 'stderr' | 'stdout';
  readonly #onDrop: (why: string) => void;
  readonly #drained = new TokenBucket(drainedPerSecond, drainedPerSecond);
  #decoder = new StringDecoder('utf8');
  readonly #kept: { readonly line: string; readonly at: number }[] = [];
  #partial = '';
  /** The last bytes dropped since the last line was read. */
  #dropped: Buffer | undefined;
  #windowStart = Number.NEGATIVE_INFINITY;
  #readLines = 0;
  #readBytes = 0;
  #passed = 0;
  #withheld = 0;

  /** @param onDrop - called with the reason when lines are dropped */
  constructor(setup: RingSetup, stream: 'stderr' | 'stdout', onDrop: (why: string) => void) {
    this.#setup = setup;
    this.#stream = stream;
    this.#onDrop = onDrop;
  }

  /** Reads a chunk; returns how long to pause the stream, in milliseconds. */
  push(chunk: Buffer): number {
    const now = this.#setup.clock.now();
    this.#startWindow(now);
    const before = this.#withheld;
    const lineCount = this.#readBytes < bytesPerSecond ? linesPerSecond - this.#readLines : 0;
    const end = endOfLines(chunk, lineCount);
    if (end > 0) this.#read(chunk.subarray(0, end));
    if (end < chunk.length) this.#drop(chunk.subarray(end));
    this.#drained.take(this.#withheld - before + chunk.length / drainedPieceBytes, now);
    return this.#drained.waitMs(now);
  }

  /** Passes on a last line that has no line end. */
  end(): void {
    if (this.#dropped === undefined) this.#keep(this.#partial + this.#decoder.end());
    this.#partial = '';
  }

  keepUnreported(raw: string): void {
    this.#add(this.#printable(raw));
  }

  /** The last lines, oldest first. */
  tail(): readonly string[] {
    return this.since(Number.NEGATIVE_INFINITY).slice(-tailLines);
  }

  /** The lines that were written since then, oldest first; the oldest of many are gone. */
  since(earliest: number): readonly string[] {
    const kept = this.#kept.filter(({ at }) => at >= earliest);
    return [...kept.map(({ line }) => line), ...this.#droppedLines()];
  }

  #printable(raw: string): string {
    return redactedLine(raw, this.#setup.secrets);
  }

  #startWindow(now: number): void {
    if (now - this.#windowStart < 1_000) return;
    this.#windowStart = now;
    this.#readLines = 0;
    this.#readBytes = 0;
    this.#passed = 0;
    const withheld = this.#withheld;
    this.#withheld = 0;
    if (withheld > 0)
      this.#setup.events.remark(`${withheld} lines of ${this.#stream} were left out`, this.#stream);
  }

  #add(line: string): void {
    this.#kept.push({ line, at: this.#setup.clock.now() });
    if (this.#kept.length > keptLines) this.#kept.shift();
  }

  #keep(raw: string): void {
    const line = this.#printable(raw);
    if (line === '') return;
    this.#add(line);
    if (this.#passed < passedPerSecond) this.#setup.events.remark(line, this.#stream);
    else this.#withheld += 1;
    this.#passed += 1;
  }

  #drop(chunk: Buffer): void {
    this.#withheld += lineCountOf(chunk);
    const before = this.#dropped ?? Buffer.from(this.#partial);
    this.#dropped = Buffer.concat([before, chunk]).subarray(-droppedTailBytes);
    this.#partial = '';
    this.#onDrop(`The server writes more than ${limits} to ${this.#stream}; the rest is dropped.`);
  }

  #droppedLines(): readonly string[] {
    return lastLinesOf(this.#dropped)
      .map((line) => this.#printable(line))
      .filter(Boolean);
  }

  #read(chunk: Buffer): void {
    if (this.#dropped !== undefined) {
      // The rest of the current line is dropped too.
      const end = chunk.indexOf(lineFeed);
      if (end === -1) return this.#drop(chunk);
      this.#drop(chunk.subarray(0, end + 1));
      for (const line of this.#droppedLines()) this.#add(line);
      this.#dropped = undefined;
      this.#decoder = new StringDecoder('utf8');
      return this.#read(chunk.subarray(end + 1));
    }
    const pieces = (this.#partial + this.#decoder.write(chunk)).split('\n');
    this.#partial = pieces.pop() ?? '';
    this.#readLines += pieces.length;
    this.#readBytes += chunk.length;
    for (const piece of pieces) this.#keep(piece);
    const { secrets } = this.#setup;
    if (this.#partial.length <= unendedCharacters + (secrets[0]?.length ?? 0)) return;
    // The rest may be the beginning of a secret; a chunk that is nothing else is passed on whole.
    const cut = safeCut(this.#partial, secrets) || this.#partial.length;
    this.#keep(this.#partial.slice(0, cut));
    this.#partial = this.#partial.slice(cut);
  }
}

/** Returns the last dropped lines, except for a first one that may have lost its beginning. */
function lastLinesOf(dropped: Buffer | undefined): readonly string[] {
  if (dropped === undefined) return [];
  const lines = dropped.toString('utf8').split('\n');
  return lines.slice(dropped.length >= droppedTailBytes ? 1 : 0).slice(-tailLines - 1);
}

/** Returns the offset after this many line ends, or the chunk's length if it has fewer. */
function endOfLines(chunk: Buffer, count: number): number {
  let end = 0;
  for (let left = count; left > 0; left -= 1) {
    const lineEnd = chunk.indexOf(lineFeed, end);
    if (lineEnd === -1) return chunk.length;
    end = lineEnd + 1;
  }
  return end;
}

function lineCountOf(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, at + 1))
    count += 1;
  return count;
}
