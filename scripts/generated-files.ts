/** Writes or checks generated files of the repository. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

export interface GeneratedFile {
  /** Path from the root of the repository. */
  readonly path: string;
  /** Returns the whole file as it should be; `current` is empty for a missing file. */
  readonly update: (current: string) => string | Promise<string>;
}

/** The files whose content differs from what it should be. */
export async function staleFiles(files: readonly GeneratedFile[]): Promise<readonly string[]> {
  const stale: string[] = [];
  for (const { path, update } of files) {
    const current = await contentOf(path);
    if ((await update(current)) !== current) stale.push(path);
  }
  return stale;
}

/**
 * Writes the stale files. With `--check` on the command line it only names them, and exits with 1
 * if there are any.
 *
 * @param hint - how to write the files
 */
export async function writeOrCheck(files: readonly GeneratedFile[], hint: string): Promise<void> {
  const stale = await staleFiles(files);
  if (process.argv.includes('--check')) {
    for (const path of stale) console.error(`stale: ${path} (${hint})`);
    if (stale.length > 0) process.exitCode = 1;
    return;
  }
  for (const { path, update } of files.filter((file) => stale.includes(file.path))) {
    // Read again: several generators may write parts of one file.
    await writeFile(join(root, path), await update(await contentOf(path)));
    console.log(`written: ${path}`);
  }
}

const contentOf = (path: string): Promise<string> =>
  readFile(join(root, path), 'utf8').catch(() => '');
