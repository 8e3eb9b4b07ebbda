/** The table of the museum: the reports that `test/museum/` replays, read from its source. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import ts from 'typescript';

import { table } from './markdown.ts';

export const museumFolder = 'test/museum';

export async function museumTable(root: string): Promise<string> {
  const folder = join(root, museumFolder);
  const files = (await readdir(folder)).filter((file) => file.endsWith('.test.ts')).sort();
  const rows = await Promise.all(
    files.map(async (file) => rowsOf(file, await readFile(join(folder, file), 'utf8'))),
  );
  return table(['Report', 'What its users saw', 'What mcp-troupe does'], rows.flat());
}

function rowsOf(file: string, text: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  const visit = (node: ts.Node, subject: string): void => {
    const called = ts.isCallExpression(node) ? node.expression.getText(source) : '';
    const [first, ...others] = ts.isCallExpression(node) ? node.arguments.map(textsOf) : [];
    if (called === 'exhibit') {
      const [saw, here] = others.flat();
      if (saw === undefined || here === undefined)
        throw new Error(`${file}: an exhibit needs plain strings`);
      const links = (first ?? []).map((thread) => `[${nameOf(thread)}](${thread})`);
      const room = `[${file.replace('.test.ts', '')}](${file})`;
      rows.push([links.join('<br>'), saw, `${room}: ${subject} ${here}`]);
    }
    const below = called === 'describe' ? (first?.[0] ?? '') : subject;
    ts.forEachChild(node, (child) => visit(child, below));
  };
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  visit(source, '');
  return rows;
}

/** The text of a literal, or those of a list. */
function textsOf(node: ts.Expression): readonly string[] {
  if (ts.isStringLiteralLike(node)) return [node.text];
  return ts.isArrayLiteralExpression(node) ? node.elements.flatMap(textsOf) : [];
}

/** `owner/repository#1`, or the changelog of a repository. */
function nameOf(thread: string): string {
  const [, repository, number] =
    /^https:\/\/github\.com\/([\w.-]+\/[\w.-]+)\/(?:(?:issues|pull)\/(\d+)|blob\/main\/CHANGELOG\.md)$/u.exec(
      thread,
    ) ?? [];
  if (repository === undefined) throw new Error(`not a public thread: ${thread}`);
  return number === undefined ? `${repository}, changelog` : `${repository}#${number}`;
}
