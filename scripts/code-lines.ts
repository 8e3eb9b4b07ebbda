/** Counts lines of code, by the folders whose size is limited in `scripts/ceilings.json`. */

import ts from 'typescript';

/** The folder that a file counts for: `src/`, `test/` and `visualizations/` are counted room by room. */
export function folderOf(path: string): string {
  return /^(?:(?:src|test|visualizations)\/[^/]+|[^/]+)(?=\/)/u.exec(path)?.[0] ?? '.';
}

/** Lines with at least one token, so without comments and blank lines. */
export function codeLines(path: string, text: string): number {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const lines = new Set<number>();
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(source);
    for (const child of children) visit(child);
    if (children.length > 0 || node.getWidth(source) === 0) return;
    const { line: first } = source.getLineAndCharacterOfPosition(node.getStart(source));
    const { line: last } = source.getLineAndCharacterOfPosition(node.getEnd());
    for (let line = first; line <= last; line += 1) lines.add(line);
  };
  visit(source);
  return lines.size;
}
