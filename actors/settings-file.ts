import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';

import type { FolderFault } from '../src/config/server-entry.ts';
import { decodeSettings, maxSettingsBytes } from '../src/config/settings-bytes.ts';

/** What was found where a settings file should be. */
export type FileReading =
  | { readonly text: string }
  | { readonly missing: true }
  /** It is there and cannot be used; what is wrong and what to do. */
  | { readonly message: string };

export type ReadFile = (file: string) => Promise<FileReading>;

/**
 * Reads a settings file. Never rejects, and never waits for anything but the
 * disk: a named pipe or a device in its place is refused, not read.
 */
export const readSettingsFile: ReadFile = async (file) => {
  let handle: FileHandle | undefined;
  try {
    // Without O_NONBLOCK, opening a named pipe waits for a writer that may never come.
    handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const found = await handle.stat();
    if (!found.isFile()) return { message: 'this is not a file; put a settings file in its place' };
    return decodeSettings(await readStart(handle, Math.min(found.size, maxSettingsBytes) + 1));
  } catch (error) {
    return readingOf(error);
  } finally {
    await handle?.close().catch(() => undefined);
  }
};

export type LookAtFolder = (folder: string) => Promise<FolderFault | undefined>;

/** Says why a folder cannot be worked in; undefined when it can. Never rejects. */
export const lookAtFolder: LookAtFolder = async (folder) => {
  try {
    return (await stat(folder)).isDirectory() ? undefined : 'notFolder';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // ENOTDIR: a part of the way is a file.
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'unreachable';
  }
};

async function readStart(handle: FileHandle, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

function readingOf(error: unknown): FileReading {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  if (code === 'ENOENT' || code === 'ENOTDIR') return { missing: true };
  const next =
    code === 'EACCES' || code === 'EPERM'
      ? 'let this user read it'
      : 'see whether it can be opened';
  return { message: `the file cannot be read (${code}); ${next}` };
}
