import { columnsOf, cutTo } from './table.ts';

/**
 * Breaks a text at its blanks into lines of at most `width` columns. The first one
 * begins with `head`, the others with as many blanks. A word that is too long by
 * itself is cut.
 */
export function wrapText(text: string, width: number, head = ''): string[] {
  const indent = ' '.repeat(columnsOf(head));
  const [first = '', ...words] = text.split(' ');
  const lines: string[] = [];
  let line = head + first;
  for (const word of words) {
    if (columnsOf(`${line} ${word}`) <= width) {
      line += ` ${word}`;
    } else {
      lines.push(line);
      line = indent + word;
    }
  }
  return [...lines, line].map((each) => cutTo(each, width));
}
