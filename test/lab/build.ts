/** Compiles the sources and the programs of the lab, as for publication. */

import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const rootFolder = fileURLToPath(new URL('../..', import.meta.url));
// Below node_modules, so that packages resolve. Each run has its own folder, because checkouts may
// share their node_modules.
export const compiledFolder = join(rootFolder, `node_modules/.cache/mcp-troupe-lab-${process.pid}`);

/** The folder is removed when the process exits. */
export async function build(): Promise<void> {
  const remove = (): void => rmSync(compiledFolder, { recursive: true, force: true });
  remove();
  process.once('exit', remove);
  // One fault row runs the troupe as a user with read access only.
  await mkdir(compiledFolder, { recursive: true, mode: 0o755 });
  const tsc = join(rootFolder, 'node_modules/@typescript/native/bin/tsc');
  const args = [tsc, '-p', 'test/lab/tsconfig.json', '--outDir', compiledFolder];
  await promisify(execFile)(process.execPath, args, { cwd: rootFolder });
  // Hides the project's own package.json.
  await writeFile(join(compiledFolder, 'package.json'), '{ "type": "module" }\n');
}
