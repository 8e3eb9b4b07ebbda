/** A folder for the programs that a run of tests compiles, removed after the run. */

import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    readonly compiledFolder: string;
  }
}

export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-compiled-'));
  // For its programs' packages, which stay outside the bundles.
  const packages = fileURLToPath(new URL('../../node_modules', import.meta.url));
  symlinkSync(packages, path.join(folder, 'node_modules'));
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
  project.provide('compiledFolder', folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
