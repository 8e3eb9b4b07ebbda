/** Rotates a file that grows: earlier parts are kept under numbers, and the oldest is removed. */

import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { codeOf } from './file-system.ts';

/** Returns the path of a part; the file itself is number 0, and the part before `db.ndjson` is `db.1.ndjson`. */
export function partOf(file: string, number: number): string {
  if (number === 0) return file;
  const { dir, name, ext } = path.parse(file);
  return path.join(dir, `${name}.${number}${ext}`);
}

/**
 * Makes room for a new file: each part gets the next number, and the oldest is removed. Replaces
 * whatever has these names. Throws file-system errors.
 *
 * @param files - how many files to keep, with the new one
 */
export async function rotate(file: string, files: number): Promise<void> {
  await rm(partOf(file, files - 1), { force: true });
  for (let number = files - 1; number > 0; number -= 1) {
    await rename(partOf(file, number - 1), partOf(file, number)).catch(ignoreMissing);
  }
}

function ignoreMissing(error: unknown): void {
  if (codeOf(error) !== 'ENOENT') throw error;
}
