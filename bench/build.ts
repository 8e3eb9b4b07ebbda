/** Compiles the sources and the benchmark's children, as plain as they are published. */

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const rootFolder = fileURLToPath(new URL('..', import.meta.url));
export const compiledFolder = join(rootFolder, 'node_modules/.cache/mcp-troupe-bench');

export async function build(): Promise<void> {
  const tsc = join(rootFolder, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [tsc, '-p', 'bench/tsconfig.json'], {
    cwd: rootFolder,
  });
  // Below node_modules nothing of the project's own package.json is seen.
  await writeFile(join(compiledFolder, 'package.json'), '{ "type": "module" }\n');
}
