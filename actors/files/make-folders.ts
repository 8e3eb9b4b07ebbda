/** Makes a folder that only its user may look into. */

import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes the folder and those above it that are missing; one that exists stays as it
 * is. Throws what the file system throws.
 *
 * Not `recursive: true`: Node tries for ever where a folder cannot be made although
 * the one above it exists and the system calls that ENOENT, as `/proc` does and some
 * file systems over a network.
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
