/** A program and its arguments as a person reads them: each word can be told from the next. */

import { quotedWord, spelledOut } from '../../../src/policies/text/printable.ts';

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
