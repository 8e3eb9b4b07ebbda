/** Replaces files atomically: a file has the old content or the new one, even after a power failure. */

import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

/** The end of a draft's name; a draft found later was left by a process that died. */
export const draftSuffix = '.tmp';

export interface ReplaceOptions {
  /** The file's mode. Default: readable for its owner only. */
  readonly mode?: number;
  /** Called at the last moment; false leaves the file as it is. Default: true. */
  readonly isWanted?: () => Promise<boolean>;
}

/**
 * Writes a text beside the file and puts it in its place. The folder must exist. Leaves no
 * draft behind when it fails, and throws what the file system throws.
 *
 * @returns whether it was put there
 */
export async function replaceWhole(
  file: string,
  text: string,
  { mode = 0o600, isWanted }: ReplaceOptions = {},
): Promise<boolean> {
  const draft = `${file}.${randomUUID()}${draftSuffix}`;
  let isPlaced = false;
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      if (mode !== 0o600) await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if ((await isWanted?.()) === false) return false;
    await rename(draft, file);
    isPlaced = true;
  } finally {
    if (!isPlaced) await rm(draft, { force: true }).catch(() => undefined);
  }
  return true;
}
