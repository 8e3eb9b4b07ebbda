/** Formats a program and its arguments so that word boundaries are visible. */

import { quotedWord, spelledOut } from '../../../src/domain/data/printable.ts';

const plainWord = /^[\w@%+=:,./~^-]+$/u;

export function commandLine(
  command: string | undefined,
  args: readonly string[] = [],
): string | undefined {
  if (command === undefined) return undefined;
  return [command, ...args]
    .map((word) => (plainWord.test(word) ? spelledOut(word) : quotedWord(word)))
    .join(' ');
}
