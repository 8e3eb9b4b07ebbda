/** Splits a command line into words as a POSIX shell does, without running a shell. */

import { usageError } from '../domain/user-errors.ts';

// A single-quoted part, a double-quoted part, an escaped character, plain characters, or blanks.
const parts = /'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])|([^\s'"\\]+)|(\s+)/gy;

/**
 * Splits a string at blanks outside quotes. Quotes and backslashes work as in a shell; variables, globs,
 * pipes and the like mean nothing and stay text.
 * @throws TroupeError `USAGE` for an open quote or a backslash at the end
 */
export function shellWords(text: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  let end = 0;
  for (const match of text.matchAll(parts)) {
    const [whole, single, double, escaped, plain, blanks] = match;
    end += whole.length;
    if (blanks === undefined) {
      // Within double quotes, a backslash is special only before these characters.
      const quoted = single ?? double?.replace(/\\([\\"$`])/g, '$1');
      word = (word ?? '') + (quoted ?? escaped ?? plain ?? '');
    } else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (end < text.length) {
    const mark = text[end] === '\\' ? 'a backslash' : `an open ${text[end]}`;
    throw usageError(`${text} ends within ${mark}; close it, or write \\${text[end]}`);
  }
  return word === undefined ? words : [...words, word];
}
