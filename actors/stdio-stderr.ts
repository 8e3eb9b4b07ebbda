/**
 * What a server process writes to stderr: kept as a bounded ring of lines, safe
 * to print and without secrets, and passed on line by line at a bounded rate.
 */

import { StringDecoder } from 'node:string_decoder';

import type { Clock } from '../src/domain/clock.ts';
import { printableLine } from '../src/policies/printable.ts';
import { safeCut } from '../src/policies/redact.ts';
import { redactWords } from '../src/policies/redact-words.ts';

const ringBytes = 65_536;
// Longer lines are cut: a failure shows twenty lines on a terminal, not a novel.
const lineCharacters = 2_000;
const unendedCharacters = lineCharacters * 4;
const tailLines = 20;
// A chatty server logs tens of lines a second; a flood must not drown the others' lines.
const passedPerSecond = 200;

export interface StderrRing {
  push(chunk: Buffer): void;
  /** Hands on a last line that has no line end. */
  end(): void;
  /** The last lines, oldest first. */
  tail(): readonly string[];
}

export function createStderrRing(
  clock: Clock,
  secrets: readonly string[],
  pass: (line: string) => void,
  stream: 'stderr' | 'stdout' = 'stderr',
): StderrRing {
  const decoder = new StringDecoder('utf8');
  const lines: string[] = [];
  const overlap = secrets[0]?.length ?? 0;
  let held = 0;
  let partial = '';
  let windowStart = Number.NEGATIVE_INFINITY;
  let passed = 0;
  let withheld = 0;

  const passOn = (line: string): void => {
    if (clock.now() - windowStart >= 1_000) {
      windowStart = clock.now();
      passed = 0;
      if (withheld > 0) pass(`${withheld} lines of ${stream} were left out`);
      withheld = 0;
    }
    if (passed < passedPerSecond) pass(line);
    else withheld += 1;
    passed += 1;
  };

  const keep = (raw: string): void => {
    // Redact before cutting, or the first half of a secret stays.
    const line = printableLine(redactWords(raw, secrets), lineCharacters);
    if (line === '') return;
    lines.push(line);
    held += line.length;
    while (held > ringBytes) held -= lines.shift()?.length ?? held;
    passOn(line);
  };

  return {
    push(chunk) {
      const pieces = (partial + decoder.write(chunk)).split('\n');
      partial = pieces.pop() ?? '';
      for (const piece of pieces) keep(piece);
      if (partial.length <= unendedCharacters + overlap) return;
      // What is left may be the beginning of a secret; a text of nothing else is let go whole.
      const cut = safeCut(partial, secrets) || partial.length;
      keep(partial.slice(0, cut));
      partial = partial.slice(cut);
    },
    end() {
      keep(partial + decoder.end());
      partial = '';
    },
    tail: () => lines.slice(-tailLines),
  };
}
