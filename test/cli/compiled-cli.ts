/** Bundles the command line once per test file, because plain Node starts a bundle four times faster. */

import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** The arguments of `node` that start the command line from the repository's root. */
export interface CliProgram {
  readonly words: readonly string[];
}

/** The program as `npm start` runs it: each file is compiled when it is loaded. */
export const cliFromSources: CliProgram = { words: ['--import', 'tsx', 'src/cli/main.ts'] };

/** The program, compiled before the file's first test and removed after its last. */
export function compiledCli(): CliProgram {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'troupe-compiled-'));
    compilerOfTsx().buildSync({
      entryPoints: [pathOf('../../src/cli/main.ts')],
      outdir: folder,
      bundle: true,
      // As in the package, the runtime is loaded late and dependencies are not bundled.
      splitting: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      logLevel: 'warning',
    });
    writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
    symlinkSync(pathOf('../../node_modules'), path.join(folder, 'node_modules'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return {
    get words() {
      return [path.join(folder, 'main.js')];
    },
  };
}

/** The compiler of `npm start`, so that both compile the sources alike. */
function compilerOfTsx() {
  const requireOfTsx = createRequire(import.meta.resolve('tsx'));
  return requireOfTsx('esbuild') as { buildSync(options: object): unknown };
}
