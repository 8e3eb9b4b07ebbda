import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
// A reader cannot take in more at a glance.
const mostFiles = 25;
const others = new Set(['node_modules', 'dist', 'coverage']);

describe('the repository', () => {
  it('has at most 25 files in each folder', () => {
    const crowded = foldersIn('').filter(({ files }) => files > mostFiles);
    expect(crowded).toEqual([]);
  });
});

/** Hidden folders belong to tools. */
function foldersIn(folder: string): readonly { readonly folder: string; readonly files: number }[] {
  const entries = readdirSync(path.join(root, folder), { withFileTypes: true });
  const below = entries.filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith('.') && !others.has(entry.name),
  );
  return [
    { folder, files: entries.filter((entry) => entry.isFile()).length },
    ...below.flatMap(({ name }) => foldersIn(path.posix.join(folder, name))),
  ];
}
