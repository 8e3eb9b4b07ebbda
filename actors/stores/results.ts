/**
 * Saves the omitted parts of results to private files. A file name is a random id with a known
 * extension; no part of it comes from the server. The oldest files are removed when there are too
 * many. A disk failure loses the file but never fails the call.
 */

import { randomBytes } from 'node:crypto';
import { constants, lstat, open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { ResultPolicy } from '../../src/domain/policy.ts';
import { makeFolders } from '../files/file-system.ts';

/** The policy's current limits. */
export type ResultFileLimits = Pick<
  ResultPolicy,
  'filesMaxCount' | 'filesMaxBytes' | 'filesMaxAgeMs'
>;

export type ResultFiles = ReturnType<typeof createResultFiles>;

const ownName = /^[0-9a-f]{32}\.[a-z0-9]{1,4}$/;
const flags =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

interface Kept {
  readonly name: string;
  readonly bytes: number;
  readonly writtenAt: number;
}

/** @param wallNow - milliseconds since 1970 */
export function createResultFiles({
  stateDir,
  wallNow,
}: {
  readonly stateDir: string;
  readonly wallNow: () => number;
}) {
  const folder = path.join(stateDir, 'results');
  /** Saved files, oldest first; undefined until the folder has been read. */
  let kept: Kept[] | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const write = async (
    content: string | Uint8Array,
    extension: string,
    limits: ResultFileLimits,
  ): Promise<string> => {
    makeFolders(folder);
    // A link would redirect results to another location.
    if (!(await lstat(folder)).isDirectory()) throw new Error('not a folder');
    kept ??= await filesIn(folder);
    const name = `${randomBytes(16).toString('hex')}.${extension}`;
    if (!ownName.test(name)) throw new Error('not a file extension');
    const bytes = Buffer.byteLength(content);
    if (bytes > limits.filesMaxBytes) throw new Error('larger than all files may be');
    const file = path.join(folder, name);
    const handle = await open(file, flags, 0o600);
    try {
      await handle.writeFile(content);
    } catch (error) {
      // A full disk: half a result is useless, and the file would not be counted.
      await rm(file, { force: true }).catch(() => undefined);
      throw error;
    } finally {
      await handle.close();
    }
    kept.push({ name, bytes, writtenAt: wallNow() });
    // A failed removal is retried with the next file; this one is still written.
    await sweep(kept, limits).catch(() => undefined);
    return file;
  };

  /** Removes the oldest files until the rest are within the limits. */
  const sweep = async (files: Kept[], limits: ResultFileLimits): Promise<void> => {
    let total = files.reduce((sum, { bytes }) => sum + bytes, 0);
    const oldest = wallNow() - limits.filesMaxAgeMs;
    for (let file = files[0]; file !== undefined; file = files[0]) {
      const isFew = files.length <= limits.filesMaxCount && total <= limits.filesMaxBytes;
      if (isFew && file.writtenAt >= oldest) break;
      await rm(path.join(folder, file.name), { force: true });
      files.shift();
      total -= file.bytes;
    }
  };

  return {
    /** Resolves with the new file's path; undefined if it cannot be written. Never rejects. */
    save(...asked: Parameters<typeof write>): Promise<string | undefined> {
      // One at a time, because each write changes the counts.
      const saved = last.then(() => write(...asked)).catch(() => undefined);
      last = saved;
      return saved;
    },
  };
}

/** Lists the files of earlier runs, oldest first. Ignores files with other names. */
async function filesIn(folder: string): Promise<Kept[]> {
  const names = (await readdir(folder)).filter((name) => ownName.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      // Another troupe that uses this state folder may just have removed it.
      const stats = await lstat(path.join(folder, name)).catch(() => undefined);
      return stats === undefined ? [] : { name, bytes: stats.size, writtenAt: stats.mtimeMs };
    }),
  );
  return found.flat().sort((a, b) => a.writtenAt - b.writtenAt);
}
