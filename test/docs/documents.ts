/** The hand-written and generated documents of the repository, read for tests. */

import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import ts from 'typescript';
import { testNamedIn } from '../../scripts/docs/shown-rows.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Document {
  /** Path from the root of the repository. */
  readonly path: string;
  readonly text: string;
}

export async function readDocuments(): Promise<readonly Document[]> {
  const inDocs = await readdir(join(root, 'docs'), { recursive: true });
  const paths = [
    'README.md',
    'SECURITY.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    '.changeset/README.md',
    ...inDocs.filter((path) => path.endsWith('.md')).map((path) => join('docs', path)),
  ];
  return Promise.all(
    paths.map(async (path) => ({ path, text: await readFile(join(root, path), 'utf8') })),
  );
}

/** The text without code blocks, which contain no links or headings. */
export function prose(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** Code blocks in one language. */
export function fencesOf(text: string, language: string): readonly string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return [...text.matchAll(fence)].map(([, content]) => content ?? '');
}

/** The anchors of a document's headings, as GitHub makes them. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...prose(text).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading ?? '');
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** The titles of all tests in a file, with `%s` and `${…}` unresolved. */
export async function titlesIn(file: string): Promise<ReadonlySet<string>> {
  const text = await readFile(file, 'utf8');
  const titles = new Set<string>();
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit);
    if (!ts.isCallExpression(node)) return;
    let callee: ts.Node = node.expression;
    // As in it.each(rows)('title', …).
    while (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee))
      callee = callee.expression;
    const [name] = node.arguments;
    if (!ts.isIdentifier(callee) || callee.text !== 'it' || name === undefined) return;
    if (ts.isStringLiteralLike(name)) titles.add(name.text);
    else if (ts.isTemplateExpression(name)) titles.add(name.getText().slice(1, -1));
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  return titles;
}

/** The parts without an existing test. */
export async function partsWithoutTest(parts: readonly string[]): Promise<readonly string[]> {
  const files = new Map<string, ReadonlySet<string>>();
  const lost: string[] = [];
  for (const part of parts) {
    const { file, title } = testNamedIn(part) ?? { file: '', title: '' };
    const path = join(root, 'test', file);
    if (file !== '' && !files.has(file))
      files.set(file, existsSync(path) ? await titlesIn(path) : new Set());
    if (files.get(file)?.has(title) !== true) lost.push(part);
  }
  return lost;
}
