/** Safe access to files and folders: bounded reads, atomic writes, private folders. */

import { randomUUID } from 'node:crypto';
import { constants, existsSync, mkdirSync, realpathSync, type Stats } from 'node:fs';
import { type FileHandle, link, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';

/** Returns a system error's code, such as `ENOENT`. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

/**
 * Creates a folder and its missing parents, readable only by their owner. Leaves existing folders
 * unchanged. Throws file-system errors.
 *
 * Does not use `recursive: true`: Node retries forever when the system reports ENOENT although the
 * parent folder exists, as `/proc` and some network file systems do.
 */
export function makeFolders(folder: string): void {
  if (existsSync(folder)) return;
  const above = path.dirname(folder);
  if (above !== folder) makeFolders(above);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Returns a folder's real path, or the path as written if the folder does not exist. */
export function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return path.resolve(folder);
  }
}

/** Returns the absolute path of the user's home; undefined if neither a variable nor the system names one. */
export function homeFolder(
  variables: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const { HOME, USERPROFILE } = variables;
  return [HOME, USERPROFILE, systemHome()].find((folder) => path.isAbsolute(folder ?? ''));
}

function systemHome(): string | undefined {
  try {
    return homedir();
  } catch {
    // The system knows no such user.
    return undefined;
  }
}

/** An open file that is neither a folder nor a device. */
interface PlainFile {
  readonly handle: FileHandle;
  readonly stats: Stats;
}

/**
 * Opens a file; resolves with undefined when it is not a plain file. Waits for nothing but the disk.
 * Creates it readable only by its owner, if the flags say so. Throws file-system errors, such as ELOOP
 * for a link when `followsLink` is false.
 */
export async function openPlain(
  file: string,
  flags: number,
  { followsLink }: { readonly followsLink: boolean },
): Promise<PlainFile | undefined> {
  // Without O_NONBLOCK, opening a named pipe waits for another process that may never come.
  const prompt = flags | (constants.O_NONBLOCK ?? 0);
  const own = followsLink ? prompt : prompt | (constants.O_NOFOLLOW ?? 0);
  const handle = await open(file, own, 0o600);
  const stats = await handle.stat();
  if (stats.isFile()) return { handle, stats };
  await handle.close();
  return undefined;
}

/**
 * Reads a file up to a limit; returns undefined when it is not a plain file. Waits for nothing but
 * the disk. Throws file-system errors, such as ELOOP for a link when `followsLink` is false.
 *
 * @returns `bytes` contains one byte more than the limit when the file is larger
 */
export async function readPlain(
  file: string,
  maxBytes: number,
  links: { readonly followsLink: boolean },
): Promise<{ readonly stats: Stats; readonly bytes: Buffer } | undefined> {
  const opened = await openPlain(file, constants.O_RDONLY, links);
  if (opened === undefined) return undefined;
  const { handle, stats } = opened;
  try {
    // Virtual files, such as those in `/proc`, report a size of zero.
    const bytes = Buffer.alloc(Math.min(stats.size || maxBytes, maxBytes) + 1);
    for (let filled = 0; ; ) {
      const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, filled);
      filled += bytesRead;
      if (bytesRead === 0 || filled === bytes.length)
        return { stats, bytes: bytes.subarray(0, filled) };
    }
  } finally {
    await handle.close().catch(() => undefined);
  }
}

/** Suffix of temporary files. A process that dies may leave one behind. */
export const draftSuffix = '.tmp';

/** Creates a file atomically, readable by its owner only. Returns false if it already exists. */
export async function createWhole(
  file: string,
  text: string,
  draft = `${file}.${randomUUID()}`,
): Promise<boolean> {
  try {
    await writeFile(draft, text, { mode: 0o600 });
    await link(draft, file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

interface ReplaceOptions {
  /** The file's mode. Default: readable only by its owner. */
  readonly mode?: number;
  /** Called right before the file is replaced; false keeps the old file. Default: true. */
  readonly isWanted?: () => Promise<boolean>;
}

/**
 * Replaces a file atomically: it holds either the old or the new content, even after a power
 * failure. The folder must exist. Removes the temporary file on failure. Throws file-system errors.
 *
 * @returns whether the file was replaced
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

/** Removes the temporary files of a file that no process is writing. */
export async function removeDrafts(file: string): Promise<void> {
  const beginning = `${path.basename(file)}.`;
  const isDraft = (name: string): boolean =>
    name.startsWith(beginning) &&
    name.endsWith(draftSuffix) &&
    name.length === beginning.length + randomUUID().length + draftSuffix.length;
  const names = await readdir(path.dirname(file)).catch(() => []);
  for (const name of names.filter(isDraft))
    await rm(path.join(path.dirname(file), name), { force: true }).catch(() => undefined);
}

/** Makes a folder's renames durable. Where folders cannot be opened, the system does so itself. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
