/** Bundles a program once per test file: Node starts a bundle in a quarter of the time. */

import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The arguments of `node` that start a program from the root of the repository. */
export interface Program {
  readonly words: readonly string[];
}

/** Compiles a program before the calling file's first test and removes it after the last. */
export function compiledProgram(source: string): Program {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'troupe-compiled-'));
    compilerOfTsx().buildSync({
      entryPoints: [path.join(root, source)],
      outdir: folder,
      bundle: true,
      // As in the package, the runtime is loaded lazily and dependencies are not bundled.
      splitting: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      logLevel: 'warning',
    });
    writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
    symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return {
    get words() {
      return [path.join(folder, `${path.basename(source, '.ts')}.js`)];
    },
  };
}

/** tsx's own compiler, which `npm start` uses, so that both compile alike. */
function compilerOfTsx() {
  const requireOfTsx = createRequire(import.meta.resolve('tsx'));
  return requireOfTsx('esbuild') as { buildSync(options: object): unknown };
}
