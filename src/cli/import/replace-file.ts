import { mkdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { replaceWhole } from '../../../actors/files/file-system.ts';
import { withFileLock } from '../../../actors/stores/file-lock.ts';
import { realClock } from '../../runtime/real-clock.ts';

/**
 * Replaces a file whole, or makes it: a reader sees the old text or the new one.
 *
 * The file's mode stays as it is; a new file is readable only by its owner. Nothing is
 * written when the file has changed meanwhile. Processes that write one file at once take
 * turns, so each sees what the one before it wrote.
 *
 * @param target - a real path; a link in its place is replaced, not followed
 * @param before - what the file held when the new text was made; undefined = there was none
 * @returns whether it was written
 */
export async function replaceFile(
  target: string,
  before: string | undefined,
  text: string,
): Promise<boolean> {
  await mkdir(path.dirname(target), { recursive: true });
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  );
  return withFileLock(target, realClock, () =>
    replaceWhole(target, text, {
      mode,
      isWanted: async () => (await textOf(target)) === before,
    }),
  );
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
