/** Compiles the sources and the rows for one run: plain Node starts that in a quarter of the time. */

import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const rootFolder = fileURLToPath(new URL('../..', import.meta.url));

/** Hands the compiled folder to the work, and removes it afterwards. */
export async function withBuild<Value>(work: (folder: string) => Promise<Value>): Promise<Value> {
  // Below node_modules, so that packages are found; a folder for each run, so that two do not meet.
  const cache = join(rootFolder, 'node_modules/.cache');
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'mcp-troupe-faults-'));
  try {
    // One row runs the troupe as a user who may read it only.
    await chmod(folder, 0o755);
    const tsc = join(rootFolder, 'node_modules/typescript/bin/tsc');
    const words = [tsc, '-p', 'test/faults/tsconfig.json', '--outDir', folder];
    await promisify(execFile)(process.execPath, words, { cwd: rootFolder });
    // There nothing of the project's own package.json is seen.
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n');
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
