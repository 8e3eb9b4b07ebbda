/** The token that HTTP clients of the gateway send, stored in a file that only its user can read. */

import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { makeFolders, replaceWhole } from '../../actors/files/file-system.ts';
import { readPrivate } from '../../actors/files/private-file.ts';
import { TroupeError } from '../domain/troupe-error.ts';

// 256 bits: cannot be guessed, however many tries.
const tokenBytes = 32;
const tokenPattern = /^[\w-]{43}$/;
// The token and a line end; a longer file is something else.
const maxFileBytes = 64;

export interface AccessToken {
  readonly file: string;
  readonly token: string;
}

/**
 * Reads the token of this state folder, or creates one. A token that other users could have read, or that
 * is invalid, is replaced; clients then need the new one.
 *
 * @throws TroupeError `PERMISSION_DENIED` when the folder is not writable
 */
export async function accessToken(stateFolder: string): Promise<AccessToken> {
  const file = path.join(stateFolder, 'gateway-token');
  const known = await readToken(file);
  if (known !== undefined) return { file, token: known };
  const token = randomBytes(tokenBytes).toString('base64url');
  try {
    makeFolders(stateFolder);
    await replaceWhole(file, `${token}\n`);
  } catch (error) {
    throw new TroupeError(
      'PERMISSION_DENIED',
      `cannot save the gateway token in ${file} (${error instanceof Error ? error.message : String(error)}); choose another --state-dir, or use --no-auth`,
      { cause: error },
    );
  }
  return { file, token };
}

async function readToken(file: string): Promise<string | undefined> {
  const reading = await readPrivate(file, maxFileBytes);
  const token = 'content' in reading ? reading.content?.trim() : undefined;
  return token !== undefined && tokenPattern.test(token) ? token : undefined;
}
