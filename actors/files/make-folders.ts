/** Makes a folder that only its user may read. */

import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes the folder and those above it that are missing; one that exists stays as it
 * is. Throws what the file system throws.
 *
 * Not `recursive: true`: Node tries for ever where a folder cannot be made although its parent
 * exists and the system reports ENOENT, as `/proc` and some network file systems do.
 */
export function makeFolders(folder: string): void {
  if (existsSync(folder)) return;
  const above = path.dirname(folder);
  if (above !== folder) makeFolders(above);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have been faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
