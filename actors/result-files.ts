/**
 * Files that hold what of an answer is not shown. A name is a random id and an extension from a fixed
 * list; nothing of the sender is in it. They lie in a folder of our own, for their owner alone, and the
 * oldest go when there are too many. Whatever is wrong with the disk costs the file and never the call.
 */

import { randomBytes } from 'node:crypto';
import { constants, lstat, open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { makeFolders } from './make-folders.ts';

export interface ResultFilesPorts {
  readonly stateDir: string;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** Default: 1,000 files, 256 MB, a week. */
  readonly limits?: ResultFileLimits;
}

export interface ResultFileLimits {
  readonly files: number;
  readonly bytes: number;
  readonly ageMs: number;
}

export interface ResultFiles {
  /** Settles with the path of the new file; undefined when it cannot be written. Never rejects. */
  save(content: string | Uint8Array, extension: string): Promise<string | undefined>;
}

const usualLimits: ResultFileLimits = {
  // As many as a long conversation leaves behind.
  files: 1_000,
  // Sixteen of the largest answers there can be.
  bytes: 256 * 1024 * 1024,
  // A week: who needs one for longer has copied it.
  ageMs: 604_800_000,
};

const ownName = /^[0-9a-f]{32}\.[a-z0-9]{1,4}$/;
const flags =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

interface Kept {
  readonly name: string;
  readonly bytes: number;
  readonly writtenAt: number;
}

export function createResultFiles(ports: ResultFilesPorts): ResultFiles {
  const { stateDir, wallNow, limits = usualLimits } = ports;
  const folder = path.join(stateDir, 'results');
  /** Oldest first; undefined = not looked yet. */
  let kept: Kept[] | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const write = async (content: string | Uint8Array, extension: string): Promise<string> => {
    makeFolders(folder);
    // Whoever can put a link in its place would be given what tools answer.
    if (!(await lstat(folder)).isDirectory()) throw new Error('The folder is not a folder.');
    kept ??= await look(folder);
    const name = `${randomBytes(16).toString('hex')}.${extension}`;
    if (!ownName.test(name)) throw new Error('This is no extension.');
    const bytes = Buffer.byteLength(content);
    if (bytes > limits.bytes) throw new Error('It is larger than all files may be.');
    const file = path.join(folder, name);
    const handle = await open(file, flags, 0o600);
    try {
      await handle.writeFile(content);
    } finally {
      await handle.close();
    }
    kept.push({ name, bytes, writtenAt: wallNow() });
    await sweep();
    return file;
  };

  const sweep = async (): Promise<void> => {
    let files = kept ?? [];
    let bytes = files.reduce((sum, one) => sum + one.bytes, 0);
    const oldest = wallNow() - limits.ageMs;
    for (const { name, bytes: own, writtenAt } of [...files]) {
      if (files.length <= limits.files && bytes <= limits.bytes && writtenAt >= oldest) break;
      await rm(path.join(folder, name), { force: true });
      files = files.slice(1);
      bytes -= own;
    }
    kept = files;
  };

  return {
    save(content, extension) {
      // One at a time: the folder is counted as it grows.
      const saved = last.then(() => write(content, extension)).catch(() => undefined);
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
      const { size, mtimeMs } = await lstat(path.join(folder, name));
      return { name, bytes: size, writtenAt: mtimeMs };
    }),
  );
  return found.sort((a, b) => a.writtenAt - b.writtenAt);
}
