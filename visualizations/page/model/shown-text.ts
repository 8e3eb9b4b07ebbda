/**
 * Text from servers. It only becomes text nodes, and invisible or direction-changing characters are spelled out, so
 * that a name cannot imitate another.
 */

import { spelledOut } from '../../../src/domain/data/printable.ts';

/** One line with every character visible; a string longer than `most` is cut, with a note. */
export function shownLine(text: string, most = 300): string {
  return cut(spelledOut(text), most);
}

/** The beginning of a longer text as one line. */
export function shownSummary(text: string, most: number): string {
  return shownLine(
    text
      .slice(0, most * 4)
      .replace(/\s+/gu, ' ')
      .trim(),
    most,
  );
}

/** Several lines, each as {@link shownLine}; line ends stay. */
export function shownLines(text: string, most = 20_000): string {
  return cut(
    text
      .split(/\r\n|\r|\n/u)
      .map(spelledOut)
      .join('\n'),
    most,
  );
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most).replace(/[\ud800-\udbff]$/u, '')}… (${text.length - most} more)`;
}
