/**
 * The installation's random key: 32 bytes in a file of the state folder that only its user may
 * read. Hashes of settings are keyed with it, so they reveal nothing to a reader without the key.
 */

import { randomBytes } from 'node:crypto';
import path from 'node:path';

import type { Clock } from '../../src/domain/clock.ts';
import { makeFolders, replaceWhole } from '../files/file-system.ts';
import { readPrivate, setAside } from '../files/private-file.ts';
import { withFileLock } from './file-lock.ts';

const keyBytes = 32;
const fileName = 'installation.key';
// The key in hex and a newline, with room for whitespace that an editor adds.
const maxBytes = 128;

/**
 * Reads the key, or creates it if there is none. Falls back to a random key for this process if the
 * file can be neither read nor written, or without a state folder. Never rejects.
 */
export async function installationKey(stateDir: string | undefined, clock: Clock): Promise<Buffer> {
  const own = randomBytes(keyBytes);
  if (stateDir === undefined) return own;
  const file = path.join(stateDir, fileName);
  try {
    const reading = await readPrivate(file, maxBytes);
    if ('refusal' in reading) return own;
    const known = 'content' in reading ? keyIn(reading.content) : undefined;
    if (known !== undefined) return known;
    makeFolders(stateDir);
    return await withFileLock(file, clock, async () => {
      // Another process may have created or repaired it meanwhile; then both use its key.
      const present = await readPrivate(file, maxBytes);
      const its = 'content' in present ? keyIn(present.content) : undefined;
      if (its !== undefined) return its;
      if ('damage' in present || ('content' in present && present.content !== undefined))
        await setAside(file, clock.wallNow());
      await replaceWhole(file, `${own.toString('hex')}\n`);
      return own;
    });
  } catch {
    return own;
  }
}

function keyIn(content: string | undefined): Buffer | undefined {
  const hex = content?.trim() ?? '';
  return /^[0-9a-f]{64}$/u.test(hex) ? Buffer.from(hex, 'hex') : undefined;
}
