import { constants, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';

export interface PlainFile {
  readonly stats: Stats;
  /** The start of the file; one byte more than the limit when the file is larger. */
  readonly bytes: Buffer;
}

/**
 * Reads a file up to a limit; undefined when it is not a plain file. Never waits for anything but
 * the disk. Throws what the file system throws, ELOOP for a link that is not to be followed.
 */
export async function readPlain(
  file: string,
  maxBytes: number,
  { followsLink }: { readonly followsLink: boolean },
): Promise<PlainFile | undefined> {
  // Without O_NONBLOCK, opening a named pipe waits for a writer that may never come.
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
  const handle = await open(file, followsLink ? flags : flags | (constants.O_NOFOLLOW ?? 0));
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) return undefined;
    // Files that the system makes up have no size.
    const bytes = Buffer.alloc(Math.min(stats.size || maxBytes, maxBytes) + 1);
    for (let filled = 0; ; ) {
      const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, filled);
      filled += bytesRead;
      if (bytesRead === 0 || filled === bytes.length)
        return { stats, bytes: bytes.subarray(0, filled) };
    }
  } finally {
    await handle.close().catch(() => undefined);
  }
}
