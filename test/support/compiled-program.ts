/** Bundles a program once per process of the run: Node starts a bundle in a quarter of the time. */

import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, inject } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The arguments of `node` that start a program from the root of the repository. */
export interface Program {
  readonly words: readonly string[];
}

// The files of a project share their process and its modules, so that one bundle serves many.
const folders = new Map<string, string>();

/** Compiles a program before the calling file's first test, unless this process has done so. */
export function compiledProgram(source: string): Program {
  beforeAll(() => {
    if (!folders.has(source)) folders.set(source, compile(source));
  });
  return {
    get words() {
      return [path.join(folders.get(source) ?? '', `${path.basename(source, '.ts')}.js`)];
    },
  };
}

function compile(source: string): string {
  const folder = mkdtempSync(path.join(inject('compiledFolder'), 'program-'));
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
  return folder;
}

/** tsx's own compiler, which `npm start` uses, so that both compile alike. */
function compilerOfTsx() {
  const requireOfTsx = createRequire(import.meta.resolve('tsx'));
  return requireOfTsx('esbuild') as { buildSync(options: object): unknown };
}
