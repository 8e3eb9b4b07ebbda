/** Where the control socket of a launch is, and the folders that keep others out of it. */

import { chmodSync, lstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { makeFolders } from '../../../actors/files/make-folders.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { type Launch, launchHash } from '../launch.ts';

/** The kernel takes 103 bytes on macOS and 107 on Linux. */
const maxSocketPathBytes = 100;

/** Names the socket of a launch; the same for every command with the same state and project folder. */
export function controlSocketPath(launch: Pick<Launch, 'stateFolder' | 'projectRoot'>): string {
  const file = `${launchHash(launch)}.sock`;
  const preferred = path.join(launch.stateFolder, 'run', file);
  if (Buffer.byteLength(preferred) <= maxSocketPathBytes) return preferred;
  const own = `mcp-troupe-${ownUid()}`;
  const temporary = path.join(tmpdir(), own, file);
  // A temporary folder may itself be deep; this one exists wherever such paths have a limit.
  return Buffer.byteLength(temporary) <= maxSocketPathBytes
    ? temporary
    : path.join('/tmp', own, file);
}

/**
 * Makes the folder of a socket, open to its owner alone.
 * @throws TroupeError `PERMISSION_DENIED` when that cannot be.
 */
export function makePrivateFolder(folder: string): void {
  refuseForeignFolder(folder);
  try {
    makeFolders(folder);
    chmodSync(folder, 0o700);
  } catch (error) {
    throw new TroupeError(
      'PERMISSION_DENIED',
      `the folder ${folder} cannot be made (${(error as NodeJS.ErrnoException).code}); choose another --state-dir`,
      { cause: error },
    );
  }
  refuseForeignFolder(folder);
}

/**
 * Refuses a folder that someone else could have put there: its socket might
 * answer in our name.
 * @throws TroupeError `PERMISSION_DENIED`; a missing folder is fine.
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
      `${folder} is not a folder of yours, so its socket is not used; remove it or choose another --state-dir`,
    );
  }
}

/** Not `os.userInfo()`: that fails for a user without an entry in the list of users. */
function ownUid(): number {
  return process.getuid?.() ?? 0;
}
