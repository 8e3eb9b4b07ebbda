/** Compiles the sources and the benchmark's children, as plain as they are published. */

import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const rootFolder = fileURLToPath(new URL('../..', import.meta.url));
// Below node_modules, so that packages are found; a folder for each run, because checkouts may
// share their node_modules.
export const compiledFolder = join(
  rootFolder,
  `node_modules/.cache/mcp-troupe-bench-${process.pid}`,
);

/** The folder is removed when the process exits. */
export async function build(): Promise<void> {
  const remove = (): void => rmSync(compiledFolder, { recursive: true, force: true });
  remove();
  process.once('exit', remove);
  const tsc = join(rootFolder, 'node_modules/typescript/bin/tsc');
  const words = [tsc, '-p', 'test/bench/tsconfig.json', '--outDir', compiledFolder];
  await promisify(execFile)(process.execPath, words, { cwd: rootFolder });
  // There nothing of the project's own package.json is seen.
  await writeFile(join(compiledFolder, 'package.json'), '{ "type": "module" }\n');
}
