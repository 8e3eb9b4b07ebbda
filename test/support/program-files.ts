/** The settings files of other programs in `test/fixtures/settings`. */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../fixtures/settings', import.meta.url));
const files = new Map(
  ['agents', 'editors'].flatMap((folder) =>
    readdirSync(path.join(root, folder))
      .filter((file) => file.endsWith('.fixture'))
      .map((file) => [path.basename(file, '.fixture'), path.join(root, folder, file)] as const),
  ),
);

export const programFiles: readonly string[] = [...files.keys()];

export function readProgramFile(name: string): string {
  return readFileSync(files.get(name) ?? name, 'utf8');
}

/** The snapshot of what such a file is read as. */
export function expectedOf(name: string): string {
  const file = files.get(name) ?? name;
  return path.join(path.dirname(file), 'expected', `${name}.json`);
}
