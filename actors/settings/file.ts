import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isFolderScope, type Scope } from '../../src/domain/scope.ts';
import type { FolderFault } from '../../src/settings/entry/places.ts';
import { decodeSettings, maxSettingsBytes } from '../../src/settings/settings-bytes.ts';
import { codeOf, readPlain } from '../files/file-system.ts';
import { isWithin, pathWithin } from '../files/path-within.ts';

/** The result of reading a settings file. */
export type FileReading =
  | {
      readonly text: string;
      /** Who besides its owner may change the file; absent if no other user may, or if unknown. */
      readonly openTo?: 'everyone' | 'group';
    }
  | { readonly missing: true }
  /** Why the file is unusable, and how to fix it. */
  | { readonly message: string };

export type ReadFile = typeof readSettingsFile;

/**
 * Reads a settings file. Never rejects, and waits for nothing but the disk: named pipes and devices
 * are refused.
 *
 * @param within - real path of the folder that links must not leave. Default: no limit
 */
export async function readSettingsFile(file: string, within?: string): Promise<FileReading> {
  try {
    const way = within === undefined ? undefined : await pathWithin(file, within);
    if (way?.isInside === false)
      return {
        message: 'this link leads out of the project folder; replace it with the file itself',
      };
    const found = await readPlain(way?.place ?? file, maxSettingsBytes, { followsLink: true });
    if (found === undefined)
      return { message: 'this is not a file; put a settings file in its place' };
    return {
      ...decodeSettings(found.bytes, Math.max(found.stats.size, found.bytes.length)),
      ...openTo(found.stats),
    };
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return { missing: true };
    const isDenied = code === 'EACCES' || code === 'EPERM';
    const next = isDenied ? 'let this user read it' : 'see whether it can be opened';
    return { message: `the file cannot be read (${code}); ${next}` };
  }
}

export type CheckFolder = typeof checkFolder;

/**
 * Explains why a folder cannot be a working folder; returns undefined if it can, or if it may not
 * be read. Never rejects.
 *
 * @param within - real path of the only folder that may be read. Default: no limit
 */
export async function checkFolder(
  folder: string,
  within?: string,
): Promise<FolderFault | undefined> {
  const way = within === undefined ? undefined : await pathWithin(folder, within);
  if (way?.isInside === false) return undefined;
  try {
    return (await stat(way?.place ?? folder)).isDirectory() ? undefined : 'notFolder';
  } catch (error) {
    const code = codeOf(error);
    // ENOTDIR: part of the path is a file.
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'unreachable';
  }
}

/**
 * Determines who else may change a file. Assumes that the user's primary group is private, as on
 * systems with umask 002.
 */
function openTo({ mode, gid }: Stats): Pick<Extract<FileReading, { text: string }>, 'openTo'> {
  // On Windows these modes are meaningless.
  if (process.getgid === undefined) return {};
  if ((mode & 0o002) !== 0) return { openTo: 'everyone' };
  return (mode & 0o020) !== 0 && gid !== process.getgid() ? { openTo: 'group' } : {};
}

/** Returns the folder that a project file's links must not leave; undefined for files elsewhere. */
export function confinesOfFile(
  { file, scope }: { readonly file: string; readonly scope: Scope },
  projectRoot: string,
): string | undefined {
  return isFolderScope(scope) && isWithin(file, projectRoot) ? projectRoot : undefined;
}
