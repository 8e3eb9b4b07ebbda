/** The files of this package as `npm pack` chooses them, copied. */

import { cp, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { matches } from './pattern.ts';

/**
 * Copies `package.json` and what its `files` name, but for folders that are built.
 *
 * Throws when something that is named does not exist: a package that lacks it weighs too little.
 */
export async function copyPublished(
  from: string,
  to: string,
  built: readonly string[],
): Promise<void> {
  const { files = [] } = JSON.parse(await readFile(join(from, 'package.json'), 'utf8')) as {
    readonly files?: readonly string[];
  };
  const named = files.filter((file) => !built.includes(file) && !file.startsWith('!'));
  const paths = (await Promise.all(named.map((pattern) => pathsOf(from, pattern)))).flat();
  const wanted = paths.filter((path) => !files.includes(`!${path}`));
  for (const path of ['package.json', ...wanted])
    await cp(join(from, path), join(to, path), { recursive: true });
}

async function pathsOf(root: string, pattern: string): Promise<readonly string[]> {
  if (!pattern.includes('*')) return [pattern];
  const folder = dirname(pattern);
  const entries = await readdir(join(root, folder));
  const paths = entries.map((entry) => `${folder}/${entry}`);
  const found = paths.filter((path) => matches(pattern, path));
  if (found.length === 0) throw new Error(`Nothing is named ${pattern}.`);
  return found;
}
