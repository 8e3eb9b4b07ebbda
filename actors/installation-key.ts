/**
 * A random key of this installation: 32 bytes in a file of the state folder that only
 * its user may read. With it, what is derived from settings can be shown without
 * saying anything to those who do not have it.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { link, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { makeFolders } from './make-folders.ts';
import { readPrivate, setAside } from './private-file.ts';

const keyBytes = 32;
const fileName = 'installation.key';
// The key in hex and a line end, with room for an editor that adds another.
const maxBytes = 128;

/**
 * Reads the key, or makes it when there is none. Where it can be neither read nor
 * written, and without a state folder, it is a random one of this process. Never rejects.
 */
export async function installationKey(stateDir: string | undefined): Promise<Buffer> {
  const own = randomBytes(keyBytes);
  if (stateDir === undefined) return own;
  const file = path.join(stateDir, fileName);
  try {
    const reading = await readPrivate(file, maxBytes);
    if ('refusal' in reading) return own;
    const known = 'content' in reading ? keyIn(reading.content) : undefined;
    if (known !== undefined) return known;
    if ('damage' in reading || reading.content !== undefined) await setAside(file, Date.now());
    makeFolders(stateDir);
    await writeOnce(file, own);
    // Another process may have been faster: then its key counts for both.
    const written = await readPrivate(file, maxBytes);
    return ('content' in written ? keyIn(written.content) : undefined) ?? own;
  } catch {
    return own;
  }
}

function keyIn(content: string | undefined): Buffer | undefined {
  const hex = content?.trim() ?? '';
  return /^[0-9a-f]{64}$/u.test(hex) ? Buffer.from(hex, 'hex') : undefined;
}

/** Whole or not at all, and never over another one. */
async function writeOnce(file: string, key: Buffer): Promise<void> {
  const draft = `${file}.${process.pid}.${randomUUID()}`;
  try {
    await writeFile(draft, `${key.toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
}
