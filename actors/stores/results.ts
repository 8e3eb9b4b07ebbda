/**
 * Files that hold the parts of results that are not shown. A name is a random id and an extension
 * from a fixed list; no part of it comes from the server. The files are private, and the oldest are
 * removed when there are too many. A disk failure costs the file, never the call.
 */

import { randomBytes } from 'node:crypto';
import { constants, lstat, open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { ResultPolicy } from '../../src/domain/policy.ts';
import { makeFolders } from '../files/file-system.ts';

export interface ResultFilesPorts {
  readonly stateDir: string;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
}

/** The policy's present limits. */
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
  /** Oldest first; undefined until the folder was read. */
  let kept: Kept[] | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const write: Write = async (content, extension, limits) => {
    makeFolders(folder);
    // A link in its place would send tools' results elsewhere.
    if (!(await lstat(folder)).isDirectory())
      throw new Error('The place of the folder is not a folder.');
    kept ??= await look(folder);
    const name = `${randomBytes(16).toString('hex')}.${extension}`;
    if (!ownName.test(name)) throw new Error('This is not an extension.');
    const bytes = Buffer.byteLength(content);
    if (bytes > limits.filesMaxBytes) throw new Error('It is larger than all files may be.');
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
    // A failed removal is tried again with the next file; this one is written.
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
      // One at a time, because each write changes the counts.
      const saved = last.then(() => write(...asked)).catch(() => undefined);
      last = saved;
      return saved;
    },
  };
}

/** Lists the files of earlier runs, oldest first. Other files are not touched. */
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
