import { randomUUID } from 'node:crypto';
import { chmod, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * Replaces a file whole, or makes it: a reader sees the old text or the new one.
 *
 * A link stays a link, and the rights of the file stay as they are; a new file is for
 * its owner alone. Nothing is written when the file is no longer what it was.
 *
 * @param before - what the file held when the new text was made; undefined = there was none
 * @returns whether it was written
 */
export async function replaceFile(
  file: string,
  before: string | undefined,
  text: string,
): Promise<boolean> {
  const target = await realpath(file).catch(() => file);
  await mkdir(path.dirname(target), { recursive: true });
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  );
  const draft = `${target}.${randomUUID()}.tmp`;
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await chmod(draft, mode);
    if ((await textOf(target)) !== before) return false;
    await rename(draft, target);
    return true;
  } finally {
    await rm(draft, { force: true });
  }
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
