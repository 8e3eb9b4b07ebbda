/**
 * Files that hold what of an answer is not shown. A name is a random id and an extension from a fixed
 * list; nothing of the sender is in it. They lie in a folder of our own, for their owner alone, and the
 * oldest go when there are too many. Whatever is wrong with the disk costs the file and never the call.
 */

import { randomBytes } from 'node:crypto';
import { constants, lstat, open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { ResultPolicy } from '../../src/domain/policy.ts';
import { makeFolders } from '../files/make-folders.ts';

export interface ResultFilesPorts {
  readonly stateDir: string;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
}

/** As the policy has them now. */
export type ResultFileLimits = Pick<
  ResultPolicy,
  'filesMaxCount' | 'filesMaxBytes' | 'filesMaxAgeMs'
>;

export interface ResultFiles {
  /** Settles with the path of the new file; undefined when it cannot be written. Never rejects. */
  save(
    content: string | Uint8Array,
    extension: string,
    limits: ResultFileLimits,
  ): Promise<string | undefined>;
}

const ownName = /^[0-9a-f]{32}\.[a-z0-9]{1,4}$/;
const flags =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

type Write = (...asked: Parameters<ResultFiles['save']>) => Promise<string>;

interface Kept {
  readonly name: string;
  readonly bytes: number;
  readonly writtenAt: number;
}

export function createResultFiles({ stateDir, wallNow }: ResultFilesPorts): ResultFiles {
  const folder = path.join(stateDir, 'results');
  /** Oldest first; undefined = not looked yet. */
  let kept: Kept[] | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const write: Write = async (content, extension, limits) => {
    makeFolders(folder);
    // Whoever can put a link in its place would be given what tools answer.
    if (!(await lstat(folder)).isDirectory()) throw new Error('The folder is not a folder.');
    kept ??= await look(folder);
    const name = `${randomBytes(16).toString('hex')}.${extension}`;
    if (!ownName.test(name)) throw new Error('This is no extension.');
    const bytes = Buffer.byteLength(content);
    if (bytes > limits.filesMaxBytes) throw new Error('It is larger than all files may be.');
    const file = path.join(folder, name);
    const handle = await open(file, flags, 0o600);
    try {
      await handle.writeFile(content);
    } catch (error) {
      // A full disk: half an answer is none, and nobody would ever count it.
      await rm(file, { force: true }).catch(() => undefined);
      throw error;
    } finally {
      await handle.close();
    }
    kept.push({ name, bytes, writtenAt: wallNow() });
    // What cannot be removed is tried again with the next file; this one is there.
    await sweep(limits).catch(() => undefined);
    return file;
  };

  const sweep = async (limits: ResultFileLimits): Promise<void> => {
    let files = kept ?? [];
    let bytes = files.reduce((sum, one) => sum + one.bytes, 0);
    const oldest = wallNow() - limits.filesMaxAgeMs;
    for (const { name, bytes: own, writtenAt } of [...files]) {
      const isFew = files.length <= limits.filesMaxCount && bytes <= limits.filesMaxBytes;
      if (isFew && writtenAt >= oldest) break;
      await rm(path.join(folder, name), { force: true });
      files = files.slice(1);
      bytes -= own;
      kept = files;
    }
  };

  return {
    save(...asked) {
      // One at a time: the folder is counted as it grows.
      const saved = last.then(() => write(...asked)).catch(() => undefined);
      last = saved;
      return saved;
    },
  };
}

/** What earlier runs left, the oldest first. What is not ours is not touched. */
async function look(folder: string): Promise<Kept[]> {
  const names = (await readdir(folder)).filter((name) => ownName.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      // Another troupe of this state folder may just have removed it.
      const stats = await lstat(path.join(folder, name)).catch(() => undefined);
      return stats === undefined ? [] : { name, bytes: stats.size, writtenAt: stats.mtimeMs };
    }),
  );
  return found.flat().sort((a, b) => a.writtenAt - b.writtenAt);
}
