/**
 * Collects what a server process writes to stderr, or to stdout when it is not MCP. Keeps the last
 * lines, safe to print and without secrets, and passes all lines on at a bounded rate.
 *
 * The stream is always drained, and the cost of a line does not depend on the lines before it. Over
 * budget, further output is dropped unread and only counted. Its last lines are kept raw, so the
 * tail of a process that dies in a flood is still correct.
 */

import { StringDecoder } from 'node:string_decoder';

import type { Clock } from '../../../src/domain/clock.ts';
import { printableLine } from '../../../src/policies/text/printable.ts';
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

/** Keeps the newest lines and when they were read. */
function createTail(clock: Clock) {
  const lines: { readonly line: string; readonly at: number }[] = [];
  return {
    add(line: string): void {
      lines.push({ line, at: clock.now() });
      if (lines.length > keptLines) lines.shift();
    },
    all: (): readonly string[] => lines.map(({ line }) => line),
    since: (earliest: number): readonly string[] =>
      lines.filter(({ at }) => at >= earliest).map(({ line }) => line),
  };
}

/** `onDrop` is called with the reason when lines are dropped. */
export function createStderrRing(
  { clock, secrets, events }: Pick<ConnectionSetup, 'clock' | 'secrets' | 'events'>,
  stream: 'stderr' | 'stdout',
  onDrop: (why: string) => void,
) {
  const drained = new TokenBucket(drainedPerSecond, drainedPerSecond);
  let decoder = new StringDecoder('utf8');
  const kept = createTail(clock);
  let partial = '';
  /** The last bytes dropped since the last line was read. */
  let dropped: Buffer | undefined;
  let windowStart = Number.NEGATIVE_INFINITY;
  let readLines = 0;
  let readBytes = 0;
  let passed = 0;
  let withheld = 0;

  const printable = (raw: string): string => redactedLine(raw, secrets);
  const startWindow = (): void => {
    if (clock.now() - windowStart < 1_000) return;
    windowStart = clock.now();
    readLines = 0;
    readBytes = 0;
    passed = 0;
    if (withheld > 0) events.remark(`${withheld} lines of ${stream} were left out`, stream);
    withheld = 0;
  };

  const keep = (raw: string): void => {
    const line = printable(raw);
    if (line === '') return;
    kept.add(line);
    if (passed < passedPerSecond) events.remark(line, stream);
    else withheld += 1;
    passed += 1;
  };

  const drop = (chunk: Buffer): void => {
    withheld += lineCountOf(chunk);
    dropped = Buffer.concat([dropped ?? Buffer.from(partial), chunk]).subarray(-droppedTailBytes);
    partial = '';
    onDrop(`The server writes more than ${limits} to ${stream}; the rest is dropped.`);
  };

  const droppedLines = (): readonly string[] => lastLinesOf(dropped).map(printable).filter(Boolean);

  const read = (chunk: Buffer): void => {
    if (dropped !== undefined) {
      // The rest of the current line is dropped too.
      const end = chunk.indexOf(lineFeed);
      if (end === -1) return drop(chunk);
      drop(chunk.subarray(0, end + 1));
      for (const line of droppedLines()) kept.add(line);
      dropped = undefined;
      decoder = new StringDecoder('utf8');
      return read(chunk.subarray(end + 1));
    }
    const pieces = (partial + decoder.write(chunk)).split('\n');
    partial = pieces.pop() ?? '';
    readLines += pieces.length;
    readBytes += chunk.length;
    for (const piece of pieces) keep(piece);
    if (partial.length <= unendedCharacters + (secrets[0]?.length ?? 0)) return;
    // The rest may be the beginning of a secret; a chunk that is nothing else is passed on whole.
    const cut = safeCut(partial, secrets) || partial.length;
    keep(partial.slice(0, cut));
    partial = partial.slice(cut);
  };

  return {
    /** Reads a chunk; returns how long to pause the stream, in milliseconds. */
    push(chunk: Buffer): number {
      startWindow();
      const before = withheld;
      const lineCount = readBytes < bytesPerSecond ? linesPerSecond - readLines : 0;
      const end = endOfLines(chunk, lineCount);
      if (end > 0) read(chunk.subarray(0, end));
      if (end < chunk.length) drop(chunk.subarray(end));
      drained.take(withheld - before + chunk.length / drainedPieceBytes, clock.now());
      return drained.waitMs(clock.now());
    },
    /** Passes on a last line that has no line end. */
    end(): void {
      if (dropped === undefined) keep(partial + decoder.end());
      partial = '';
    },
    keepUnreported: (raw: string): void => kept.add(printable(raw)),
    /** The last lines, oldest first. */
    tail: (): readonly string[] => [...kept.all(), ...droppedLines()].slice(-tailLines),
    /** The lines that were written since then, oldest first; the oldest of many are gone. */
    since: (earliest: number): readonly string[] => [...kept.since(earliest), ...droppedLines()],
  };
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
