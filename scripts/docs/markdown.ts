/** Writes Markdown: tables, and blocks between two markers. */

/** Lays out a table; a bar inside a cell is escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

export function code(text: string): string {
  return `\`${text}\``;
}

export function codes(texts: readonly string[]): string {
  return texts.map(code).join(' ');
}

/** Turns mentions of other pages, such as `docs/codes.md`, into links for a page in `docs`. */
export function linked(text: string): string {
  return text.replaceAll(/docs\/([\w-]+\.md)(#[\w-]+)?/g, '[$1]($1$2)');
}

export function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}

/** Replaces the text between the markers of one name and nothing else. */
export function withBlock(document: string, name: string, content: string): string {
  const begin = `<!-- generated: ${name} -->`;
  const end = `<!-- end: ${name} -->`;
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from === -1 || to < from) {
    throw new Error(`the document has no block between "${begin}" and "${end}"`);
  }
  return `${document.slice(0, from + begin.length)}\n\n${content}\n\n${document.slice(to)}`;
}
