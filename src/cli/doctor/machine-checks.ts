/** What a troupe itself needs: Node, its state folder, its socket and file watching. */

import { constants, existsSync, lstatSync, readFileSync } from 'node:fs';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { codeOf } from '../../../actors/files/file-system.ts';
import { watchSettingsFiles } from '../../../actors/files/watcher.ts';
import { withinTime } from '../../../actors/host/time-limit.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { quotedFor } from '../../policies/text/quoted.ts';
import { realClock } from '../../runtime/real-clock.ts';
import { findRunning } from '../control/running-troupe.ts';
import { controlSocketPath } from '../control/socket-path.ts';
import type { Launch } from '../launch.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

/** The least version of `engines` in package.json. */
const leastNode = [20, 19] as const;

export function nodeFinding(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNewEnough = major > leastNode[0] || (major === leastNode[0] && minor >= leastNode[1]);
  if (isNewEnough) return ok('node', `Node ${version}`);
  const least = leastNode.join('.');
  return failure('node', `Node ${version} is too old`, `install Node ${least} or later`);
}

/** Looks only; the folder is created by the first troupe. */
export async function stateFinding({ stateFolder: folder }: Launch): Promise<Finding> {
  let found;
  try {
    found = lstatSync(folder, { throwIfNoEntry: false });
  } catch (error) {
    // A folder above it is closed to this user.
    return unwritable(`${folder} cannot be reached (${codeOf(error)})`);
  }
  if (found === undefined) {
    const parent = existingParent(folder);
    return (await isWritable(parent))
      ? ok('state', `${folder} does not exist yet; a troupe creates it`)
      : unwritable(`${folder} cannot be created in ${parent}`);
  }
  if (!found.isDirectory()) return unwritable(`${folder} is not a folder`);
  if (process.getuid !== undefined && found.uid !== process.getuid())
    return unwritable(`${folder} belongs to another user`);
  if (!(await isWritable(folder))) return unwritable(`${folder} cannot be written`);
  if (process.getuid !== undefined && (found.mode & 0o022) !== 0) {
    const next = `chmod go-w ${quotedFor('shell', folder)}`;
    return warning('state', `other users may change ${folder}`, next);
  }
  return ok('state', folder);
}

function unwritable(message: string): Finding {
  return failure('state', message, 'let this user write it, or choose another --state-dir');
}

export async function socketFinding(launch: Launch): Promise<Finding> {
  const file = controlSocketPath(launch);
  try {
    const running = await findRunning(launch);
    if (running !== undefined) {
      running.client.close();
      return ok('socket', `a troupe is running (pid ${running.identity.pid})`);
    }
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    // The message ends with its next step.
    const [message = '', next = 'choose another --state-dir'] = error.message.split('; ');
    return failure('socket', message, next);
  }
  if (existsSync(file)) {
    const message = `${file} was left behind by a troupe that did not stop`;
    return warning('socket', message, 'troupe up, which replaces it');
  }
  const preferred = path.join(launch.stateFolder, 'run', path.basename(file));
  const why = file === preferred ? '' : `; ${preferred} would be too long for a socket`;
  return ok('socket', `no troupe is running; it would use ${file}${why}`);
}

/** An event arrives within milliseconds, and with polling within a second. */
const watchMs = 3_000;

/** Fewer watches or instances than this are soon used up beside an editor. */
const least = { max_user_watches: 8_192, max_user_instances: 128 } as const;

/** Changes a file in a temporary folder and waits for the event. */
export async function watchFinding(): Promise<Finding> {
  let folder;
  try {
    folder = await mkdtemp(path.join(tmpdir(), 'troupe-doctor-'));
  } catch (error) {
    const message = `no file can be created in the temporary folder ${tmpdir()} (${codeOf(error)})`;
    return warning('watch', message, 'set TMPDIR to a folder that this user may write');
  }
  return watchFindingIn(folder);
}

async function watchFindingIn(folder: string): Promise<Finding> {
  const file = path.join(folder, 'settings.json');
  let unwatch = (): void => undefined;
  let reason: string | undefined;
  try {
    await writeFile(file, '{}');
    const seen = new Promise<true>((resolve) => {
      const slowed = (message: string | undefined): void => void (reason = message);
      unwatch = watchSettingsFiles([file], { changed: () => resolve(true), slowed });
    });
    await writeFile(file, '{ }');
    const hasSeen = (await withinTime(realClock, watchMs, seen)) === true;
    if (reason !== undefined) return warning('watch', reason, 'end programs that watch many files');
    if (!hasSeen) {
      const message = `no event arrived within ${watchMs / 1_000} s for a changed file`;
      return warning('watch', message, 'run troupe reload after each edit of the settings');
    }
  } finally {
    unwatch();
    await rm(folder, { recursive: true, force: true });
  }
  return limitFinding(inotifyLimit) ?? ok('watch', 'edits of files are seen');
}

/** Warns of low limits of inotify; undefined where they are high enough or unknown. */
export function limitFinding(limitOf: (name: string) => number | undefined): Finding | undefined {
  for (const [name, enough] of Object.entries(least)) {
    const limit = limitOf(name);
    if (limit === undefined || limit >= enough) continue;
    const message = `fs.inotify.${name} is only ${limit}, so edits may be noticed late`;
    return warning('watch', message, `sudo sysctl fs.inotify.${name}=${enough}`);
  }
  return undefined;
}

function inotifyLimit(name: string): number | undefined {
  try {
    const limit = Number(readFileSync(`/proc/sys/fs/inotify/${name}`, 'utf8'));
    return Number.isNaN(limit) ? undefined : limit;
  } catch {
    return undefined;
  }
}

function existingParent(folder: string): string {
  const parent = path.dirname(folder);
  return parent === folder || existsSync(parent) ? parent : existingParent(parent);
}

async function isWritable(folder: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
