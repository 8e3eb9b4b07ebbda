/**
 * Text of servers on its way to the page. It only ever becomes text nodes; what would
 * hide or turn the text around it is spelled out besides, so that a name cannot pose
 * as another.
 */

import { spelledOut } from '../../../src/policies/text/printable.ts';

/** One line, with every character visible; what is longer than `most` is cut, and says so. */
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
