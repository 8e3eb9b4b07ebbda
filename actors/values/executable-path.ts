/** Finds the program that a command runs, the way the system does when it starts a process. */

import { constants, realpathSync } from 'node:fs';
import { access, type FileHandle, open, realpath, stat } from 'node:fs/promises';
import path from 'node:path';

import type { StdioSpec } from '../../src/domain/server-spec.ts';
import { isCommandPlain } from '../../src/policies/approvals/command-place.ts';
import type { Variables } from '../../src/policies/expand-variables.ts';
import { digestOf } from '../../src/policies/fingerprint.ts';
import { looksSecret } from '../../src/policies/text/redact.ts';
import { isWithin, pathWithin } from '../files/path-within.ts';
import { environmentOf } from '../processes/environment.ts';
import type { StdioLaunch } from '../processes/system.ts';
import { SettingError } from './setting-error.ts';
import { resolveSpec } from './target.ts';

export interface Executable {
  /** Absolute path at which the command was found. */
  readonly file: string;
  /** The same path with all links followed; this is the path that the user approves. */
  readonly realPath: string;
  /**
   * Whether `realPath` is only the path as written, because it leads out of the folder that may be
   * read.
   */
  readonly isUnfollowed?: true;
}

/** The system's default search path for a process without PATH. */
const usualPath = '/bin:/usr/bin';

/**
 * Finds the program that a command runs; undefined if there is none.
 *
 * For a project's entry, no path outside the project folder is read. A path whose links lead
 * outside is identified by the point where it leaves the folder; a path written outside, by its
 * spelling.
 */
export async function findExecutable(
  { command, cwd, env }: Pick<StdioLaunch, 'command' | 'cwd' | 'env'>,
  within?: string,
): Promise<Executable | undefined> {
  for (const place of placesOf(command, env['PATH'] ?? usualPath)) {
    // An empty entry refers to the working folder.
    const file = path.resolve(cwd, place, command);
    const isOutside = within !== undefined && !isWithin(file, within);
    if (isOutside && hasFolder(command)) {
      const written = path.isAbsolute(command) ? command : file;
      return { file: written, realPath: written, isUnfollowed: true };
    }
    // Only absolute folders of the user's own PATH: a relative one starts in a folder that the
    // entry names.
    if (isOutside && !path.isAbsolute(place)) continue;
    for (const ending of endings(command, env)) {
      const at = file + ending;
      const isConfined = within !== undefined && !isOutside;
      const found = await (isConfined ? executableWithin(at, within) : executableAt(at));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** Returns the file that a command names by its path, if it exists but must not be executed. */
export async function unexecutableFile({
  command,
  cwd,
}: Pick<StdioLaunch, 'command' | 'cwd'>): Promise<string | undefined> {
  if (!hasFolder(command)) return undefined;
  const file = path.resolve(cwd, command);
  try {
    return (await stat(file)).isFile() ? file : undefined;
  } catch {
    return undefined;
  }
}

/** Like `findExecutable`, but returns undefined when a variable or the entry's own PATH decides. */
async function findConfined(
  spec: StdioSpec,
  env: StdioLaunch['env'],
  within: string,
): Promise<Executable | undefined> {
  return isCommandPlain(spec) ? findExecutable({ ...spec, env }, within) : undefined;
}

async function executableWithin(file: string, within: string): Promise<Executable | undefined> {
  const { place, isInside } = await pathWithin(file, within);
  if (!isInside) return { file, realPath: place, isUnfollowed: true };
  const found = await executableAt(place);
  return found && { file, realPath: found.realPath };
}

/**
 * Returns the path by which admission identifies an executable: its real path, or a digest of it if
 * the command contains a secret.
 *
 * @param within - real path of the project folder, for an entry that it brings; outside it, only
 * the user's own PATH is searched
 */
export async function approvedPathOf(
  spec: StdioSpec,
  variables: Variables,
  within?: string,
): Promise<string | undefined> {
  const found = await (within === undefined
    ? findExecutable(launchOf(spec, variables))
    : findConfined(spec, environmentOf(variables, {}, process.platform), within));
  return found === undefined ? undefined : shownPath(spec, found);
}

/**
 * Returns the launch of exactly the approved program, even if PATH changes a moment later.
 *
 * @param approved - null if nothing was found at approval, or nothing could be looked up
 * @param within - the same as when the program was looked up
 * @throws SettingError if the command now leads elsewhere
 */
export async function launchAsApproved(
  launch: StdioLaunch,
  spec: StdioSpec,
  approved: string | null,
  within?: string,
): Promise<StdioLaunch> {
  const found = await (within === undefined
    ? findExecutable(launch)
    : findConfined(spec, launch.env, within));
  const present = found === undefined ? null : shownPath(spec, found);
  if (present !== approved) {
    throw movedError(launch.command);
  }
  if (found === undefined) return launch;
  // A script finds the files next to it, and an interpreter its name, by the path it is started
  // with; a binary gets its name from argv0.
  const { file, isUnfollowed } = found;
  // The program is approved, so its path may now be followed.
  const realPath = isUnfollowed ? await realpath(file).catch(() => file) : found.realPath;
  const command = (await isBinary(realPath)) ? realPath : file;
  return { ...launch, command, argv0: launch.command, realPath };
}

/**
 * Checks that the path about to be started still leads to the approved program. It is synchronous,
 * so that no other code of ours runs between the check and the start.
 *
 * @throws SettingError if it leads elsewhere
 */
export function assertSameProgram({ command, argv0, realPath }: StdioLaunch): void {
  if (realPath === undefined) return;
  let present: string | undefined;
  try {
    present = realpathSync(command);
  } catch {
    // A missing program is not the approved one either.
  }
  if (present !== realPath) throw movedError(argv0 ?? command);
}

function movedError(command: string): SettingError {
  return new SettingError(
    `The command "${command}" leads to another program than the one that was approved, and was not started.`,
  );
}

// Enough for the header of every executable format. All of them contain a zero byte; a script does
// not.
const headBytes = 512;

async function isBinary(file: string): Promise<boolean> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, 'r');
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    const head = buffer.subarray(0, bytesRead);
    return head.subarray(0, 2).toString('latin1') !== '#!' && head.includes(0);
  } catch {
    // A script that cannot be read cannot run either.
    return true;
  } finally {
    await handle?.close().catch(() => undefined);
  }
}

/** Returns the path under which an executable is approved and shown. */
function shownPath({ command }: Pick<StdioSpec, 'command'>, found: Executable): string {
  const names = [...command.matchAll(/\$\{([^}:]*)/gu)].map(([, name = '']) => name);
  return names.some(looksSecret) ? `sha256:${digestOf(found.realPath)}` : found.realPath;
}

function launchOf(spec: StdioSpec, variables: Variables): StdioLaunch {
  try {
    // Only the parts that decide where it is found: an unset variable elsewhere does not matter.
    const { PATH } = spec.env;
    const part = { ...spec, args: [], env: PATH === undefined ? {} : { PATH } };
    const resolved = resolveSpec(part, variables);
    if (resolved.type === 'stdio') return resolved.launch;
  } catch {
    // Unknown until the variable is set.
  }
  return { command: '', args: [], env: {}, cwd: '/' };
}

function placesOf(command: string, searchPath: string): readonly string[] {
  if (command === '') return [];
  return hasFolder(command) ? [''] : searchPath.split(path.delimiter);
}

function hasFolder(command: string): boolean {
  // On Windows, `C:tool` is in that drive's current folder.
  const isOnDrive = process.platform === 'win32' && command.includes(':');
  return command.includes('/') || command.includes(path.sep) || isOnDrive;
}

function endings(
  command: string,
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  if (process.platform !== 'win32') return [''];
  const known = (env['PATHEXT'] ?? '.COM;.EXE;.BAT;.CMD').split(';');
  // Next to `npx.cmd` there is an `npx` for other shells, which Windows does not run.
  return path.extname(command) === '' ? [...known, ''] : ['', ...known];
}

async function executableAt(file: string): Promise<Executable | undefined> {
  try {
    await access(file, constants.X_OK);
    if (!(await stat(file)).isFile()) return undefined;
    return { file, realPath: await realpath(file) };
  } catch {
    return undefined;
  }
}
