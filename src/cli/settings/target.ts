/** Decides which files count as the project's and where a command may write, and reads and writes there. */

import { mkdir, readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, replaceWhole } from '../../../actors/files/file-system.ts';
import { isWithin, pathWithin } from '../../../actors/files/path-within.ts';
import { readSettingsFile } from '../../../actors/settings/file.ts';
import { withFileLock } from '../../../actors/stores/file-lock.ts';
import { printableLine } from '../../domain/data/printable.ts';
import { settingsError } from '../../domain/user-errors.ts';
import { realClock } from '../../runtime/real-clock.ts';
import { type Launch, realOrPlanned } from '../launch.ts';

/** Whether a path leads through the project folder, possibly over links. */
export async function isOfProject(file: string, projectRoot: string): Promise<boolean> {
  return (await placeInProject(file, projectRoot)) !== undefined;
}

/**
 * Returns the real path to write for a target. The user's own settings may be a link, as dotfile
 * managers create them. A project's link may not lead out of the project; otherwise a cloned
 * repository could have its servers written where they need no approval.
 *
 * @throws TroupeError `INVALID_CONFIG` for a target in the project that leads out of it.
 */
export async function writablePlace(
  file: string,
  { projectRoot, userSettings }: Pick<Launch, 'projectRoot' | 'userSettings'>,
): Promise<string> {
  const inProject = file === userSettings ? undefined : await placeInProject(file, projectRoot);
  if (inProject === undefined) return realOrPlanned(file);
  const { place, isInside } = await pathWithin(inProject, projectRoot);
  if (isInside) return place;
  throw settingsError(
    `${printableLine(file, 500)} links to ${printableLine(place, 500)}, outside the project folder; replace the link with a file`,
  );
}

/** Returns the path within the project folder when a file's path leads through that folder. */
async function placeInProject(file: string, projectRoot: string): Promise<string | undefined> {
  if (isWithin(file, projectRoot)) return file;
  const { root } = path.parse(file);
  const parts = file.slice(root.length).split(path.sep);
  let folder = root;
  for (const [index, part] of parts.slice(0, -1).entries()) {
    folder = path.join(folder, part);
    const real = await realpath(folder).catch(() => undefined);
    if (real === undefined) return undefined;
    if (isWithin(real, projectRoot)) return path.join(real, ...parts.slice(index + 1));
  }
  return undefined;
}

/**
 * Reads a file that is to be edited; undefined if it does not exist.
 * @throws TroupeError `INVALID_CONFIG` when it cannot be read, or is read-only
 */
export async function textToEdit(place: string, refusal: string): Promise<string | undefined> {
  const reading = await readSettingsFile(place);
  if ('message' in reading) throw settingsError(`${refusal}: ${reading.message}`);
  if (await isReadOnly(place)) throw settingsError(`${refusal}: ${readOnly}`);
  return 'text' in reading ? reading.text : undefined;
}

const readOnly = 'it is read-only; make it writable, or edit what it is made from';

/** A file that is replaced needs no right to be written, but its owner did not want it changed. */
async function isReadOnly(place: string): Promise<boolean> {
  const mode = await stat(place).then(
    (found) => found.mode,
    () => undefined,
  );
  return mode !== undefined && (mode & 0o222) === 0;
}

const afterRefusal: Readonly<Record<string, string>> = {
  EACCES: 'let this user write to its folder',
  EPERM: 'let this user write to its folder',
  EROFS: 'its disk is read-only',
  ELOCKED: 'another command is writing it; run the command again',
};

/**
 * Runs a write.
 * @throws TroupeError `INVALID_CONFIG` when the system refuses it
 */
export async function orRefusal<Result>(
  file: string,
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    const code = codeOf(error);
    const next = afterRefusal[code] ?? 'see what is in its place, and whether its disk is full';
    throw settingsError(`cannot write ${printableLine(file, 500)} (${code}); ${next}`);
  }
}

/**
 * Creates or replaces a file in one step: readers see either the old text or the new one.
 *
 * Keeps the file's mode; a new file is readable only by its owner. Processes that write the same file take turns, so each sees the previous one's text.
 *
 * @param target - a real path; a link in its place is replaced, not followed
 * @param before - the text that the new text is based on; undefined = the file did not exist
 * @throws TroupeError `INVALID_CONFIG` when the file has changed meanwhile, or the system refuses to write it;
 * nothing is written then
 */
export async function replaceFile(
  target: string,
  before: string | undefined,
  text: string,
  next = 'run the command again',
): Promise<void> {
  const isWanted = async (): Promise<boolean> => (await textOf(target)) === before;
  const isWritten = await orRefusal(target, async () => {
    await mkdir(path.dirname(target), { recursive: true });
    const mode = await stat(target).then(
      (found) => found.mode & 0o777,
      () => 0o600,
    );
    return withFileLock(target, realClock, () => replaceWhole(target, text, { mode, isWanted }));
  });
  if (isWritten) return;
  throw settingsError(
    `${printableLine(target, 500)} was edited meanwhile, so nothing was written; ${next}`,
  );
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
