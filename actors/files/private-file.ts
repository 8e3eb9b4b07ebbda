/** Reads a file that is trusted only if no other user can read or write it. */

import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { rename } from 'node:fs/promises';
import { codeOf, readPlain } from './file-system.ts';

type UntrustedFile =
  /** The file's content is damaged, so the file must be set aside. */
  | { readonly damage: string }
  /**
   * The file is unsafe and must not be changed; the message says what is wrong and how to fix it.
   * `isExposed`: another user may have read or written it.
   */
  | { readonly refusal: string; readonly isExposed?: true };

/** Reads the whole file; `content` is absent if the file does not exist. Never rejects. */
export async function readPrivate(
  file: string,
  maxBytes: number,
): Promise<UntrustedFile | { readonly content?: string }> {
  try {
    // A link may lead to a file that another user can write.
    const found = await readPlain(file, maxBytes, { followsLink: false });
    if (found === undefined) return { refusal: 'is not a file; move it away', isExposed: true };
    const fault = faultOf(found.stats);
    if (fault !== undefined) return { refusal: fault, isExposed: true };
    if (found.bytes.length > maxBytes) return { damage: 'it is too large' };
    return { content: found.bytes.toString('utf8') };
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return {};
    if (code === 'ELOOP' || code === 'EMLINK')
      return { refusal: 'is a link; move it away', isExposed: true };
    return { refusal: `cannot be read (${code}); let this user read it` };
  }
}

/** Renames a damaged file and returns its new path. */
export async function setAside(file: string, wallNow: number): Promise<string> {
  const time = new Date(wallNow).toISOString().replaceAll(/[:.]/gu, '-');
  const aside = `${file}.damaged-${time}-${randomUUID().slice(0, 4)}`;
  await rename(file, aside);
  return aside;
}

/** Explains why another user could have written the file; returns undefined if none could. */
function faultOf({ mode, uid }: Stats): string | undefined {
  // On Windows these numbers are meaningless.
  if (process.getuid === undefined) return undefined;
  if (uid !== process.getuid()) return 'belongs to another user; move it away';
  if ((mode & 0o077) === 0) return undefined;
  return 'is open to other users; see that it is as you want it, then chmod 600 it';
}
