/** The path of a launch's control socket, and the private folder around it. */

import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { codeOf, makeFolders } from '../../../actors/files/file-system.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { type Launch, launchHash } from '../launch.ts';

/** The kernel's limit is 103 bytes on macOS and 107 on Linux. */
const maxSocketPathBytes = 100;

/** As many as the largest pid of Linux has. */
const pidDigits = 7;

type Place = Pick<Launch, 'stateFolder' | 'projectRoot'>;

/** Returns the same path for every command with the same state and project folder. */
export function controlSocketPath(launch: Place): string {
  return socketPath(launch, `${launchHash(launch)}.sock`);
}

/** Where a single call, which runs without a troupe of `up`, takes answers to its server's questions. */
export function callSocketPath(launch: Place, pid: number): string {
  // All have the same length, so that all are in one folder.
  return socketPath(launch, `${launchHash(launch)}-${String(pid).padStart(pidDigits, '0')}.sock`);
}

/** The pids of single calls that may wait for answers. */
export function callPids(launch: Place): readonly number[] {
  const hash = launchHash(launch);
  return callSockets(launch).flatMap((each) => (each.hash === hash ? [each.pid] : []));
}

export interface CallSocket {
  readonly path: string;
  /** The {@link launchHash} of the call's launch. */
  readonly hash: string;
  readonly pid: number;
}

/** The sockets of single calls, of all projects whose sockets are in the same folder. */
export function callSockets(launch: Place): readonly CallSocket[] {
  const folder = path.dirname(callSocketPath(launch, 0));
  refuseForeignFolder(folder);
  const pattern = new RegExp(`^([0-9a-f]+)-(\\d{${pidDigits}})\\.sock$`, 'u');
  return namesIn(folder).flatMap((name) => {
    const [, hash, digits] = pattern.exec(name) ?? [];
    if (hash === undefined || digits === undefined) return [];
    return [{ path: path.join(folder, name), hash, pid: Number(digits) }];
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function socketPath(launch: Place, file: string): string {
  const preferred = path.join(launch.stateFolder, 'run', file);
  if (Buffer.byteLength(preferred) <= maxSocketPathBytes) return preferred;
  const own = `mcp-troupe-${ownUid()}`;
  const temporary = path.join(tmpdir(), own, file);
  // The temporary folder may itself be deep; /tmp exists on every system with such a limit.
  return Buffer.byteLength(temporary) <= maxSocketPathBytes
    ? temporary
    : path.join('/tmp', own, file);
}

const deniedCodes: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS']);

/**
 * Creates the socket's folder, accessible only to its owner.
 * @throws TroupeError `PERMISSION_DENIED` if the system denies that, `USAGE` if no folder can be there
 */
export function makePrivateFolder(folder: string): void {
  refuseForeignFolder(folder);
  try {
    makeFolders(folder);
    chmodSync(folder, 0o700);
  } catch (error) {
    const code = codeOf(error);
    throw new TroupeError(
      deniedCodes.has(code) ? 'PERMISSION_DENIED' : 'USAGE',
      `cannot create the folder ${folder} (${code}); choose another --state-dir`,
      { cause: error },
    );
  }
  refuseForeignFolder(folder);
}

/**
 * Rejects a folder that another user may have created, because its socket could impersonate ours. A
 * missing folder is accepted.
 * @throws TroupeError `PERMISSION_DENIED`
 */
export function refuseForeignFolder(folder: string): void {
  let found;
  try {
    found = lstatSync(folder);
  } catch {
    return;
  }
  if (!found.isDirectory() || found.uid !== ownUid()) {
    throw new TroupeError(
      'PERMISSION_DENIED',
      `${folder} does not belong to you, so its socket is not used; remove it or choose another --state-dir`,
    );
  }
}

/** Not `os.userInfo()`, which fails for a user without a passwd entry. */
function ownUid(): number {
  return process.getuid?.() ?? 0;
}
