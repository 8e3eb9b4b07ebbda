/** The token that clients of the gateway bring over HTTP: made once, kept where only its user can read it. */

import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { makeFolders } from '../../actors/files/make-folders.ts';
import { readPrivate } from '../../actors/files/private-file.ts';
import { replaceWhole } from '../../actors/files/whole-file.ts';
import { TroupeError } from '../domain/troupe-error.ts';

// 256 bits: nobody guesses it, however fast we answer.
const tokenBytes = 32;
const tokenPattern = /^[\w-]{43}$/;
// The token and a line end; whatever is longer is something else.
const maxFileBytes = 64;

export interface AccessToken {
  readonly file: string;
  readonly token: string;
}

/**
 * Reads the token of this state folder, or makes one. One that others could have read, or that
 * is none, is replaced: clients then need the new one.
 *
 * @throws TroupeError `PERMISSION_DENIED` when the folder cannot be written.
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
      `The token of the gateway cannot be kept in ${file} (${error instanceof Error ? error.message : String(error)}). Choose another --state-dir, or use --no-auth.`,
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
