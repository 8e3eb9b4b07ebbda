import { columnsOf, cutTo } from './table.ts';

/**
 * Wraps a text into lines of at most `width` columns. The first line starts with `head`, the others with
 * as many spaces. A word that does not fit on a line is cut.
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
