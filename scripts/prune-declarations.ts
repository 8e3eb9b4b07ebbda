/**
 * Deletes from `dist/` the declarations that no entry point reaches, as part of `npm run build`. Fails if a
 * reachable one names a package that is not installed beside ours: a strict compiler would reject it.
 */

import { readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { root } from './generated-files.ts';

const suffix = '.d.ts';
// The compiler writes types that it inferred as import("name"), with double quotes.
const imported = /\b(?:from|import\()\s*['"]([^'"]+)['"]/gu;
const packages = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)];
const isInstalled = (name: string): boolean =>
  name.startsWith('node:') || packages.some((each) => name === each || name.startsWith(`${each}/`));

function reachable(entries: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = [...entries];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(imported)) {
      if (name.startsWith('.'))
        open.push(path.resolve(path.dirname(file), name.replace(/\.ts$/u, suffix)));
      else if (!isInstalled(name))
        throw new Error(`${path.relative(root, file)} names ${name}, which is not installed`);
    }
  }
  return seen;
}

const entries = Object.values(manifest.exports).flatMap((entry) =>
  typeof entry === 'object' ? [path.join(root, entry.types)] : [],
);
const kept = reachable(entries);
const dist = path.join(root, 'dist');
const folders = new Set<string>();
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  const file = path.join(entry.parentPath, entry.name);
  if (entry.isDirectory()) folders.add(file);
  else if (file.endsWith(suffix) && !kept.has(file)) rmSync(file);
}
for (const folder of [...folders].sort().reverse())
  if (readdirSync(folder).length === 0) rmdirSync(folder);
