/**
 * Reads a text file that settings name. Only a plain file is read, and one that is confined to a
 * folder must be in it after all links are followed.
 */

import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { TextDecoder } from 'node:util';

import { codeOf, readPlain } from './file-system.ts';
import { isWithin, pathWithin } from './path-within.ts';

export type TextReading =
  | { readonly text: string }
  /** Why there is no text, phrased as the end of a sentence about the file. */
  | { readonly failure: string };

interface Rule {
  /** The setting that names the file. */
  readonly key: string;
  /** The folder that the file must be in. */
  readonly within?: string | undefined;
  readonly maxBytes: number;
  /** What belongs into the file. */
  readonly content: string;
}

/** Never rejects. */
export async function readTextFile(file: string, rule: Rule): Promise<TextReading> {
  const { within, key } = rule;
  try {
    return await (within === undefined
      ? readText(file, rule, true)
      : readWithin(file, within, rule));
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR')
      return { failure: `does not exist; create it, or fix "${key}"` };
    return { failure: `cannot be read (${code}); let this user read it` };
  }
}

/** Follows links, but only within the folder. */
async function readWithin(file: string, folder: string, rule: Rule): Promise<TextReading> {
  const root = await realpath(folder);
  const below = isWithin(file, folder) ? path.join(root, path.relative(folder, file)) : file;
  const { place, isInside } = await pathWithin(below, root);
  if (!isInside || place === root)
    return { failure: 'leads out of the project folder; put it into the folder' };
  const text = await readText(place, rule, false);
  // A folder on the path may have been replaced by a link since.
  if ((await realpath(place)) !== place)
    return { failure: 'was exchanged while it was read; try again' };
  return text;
}

async function readText(
  file: string,
  { maxBytes, content }: Rule,
  followsLink: boolean,
): Promise<TextReading> {
  const found = await readPlain(file, maxBytes, { followsLink });
  if (found === undefined) return { failure: 'is not a file' };
  try {
    if (found.bytes.length <= maxBytes)
      return { text: new TextDecoder('utf-8', { fatal: true }).decode(found.bytes) };
  } catch {
    // Not UTF-8.
  }
  const limit = `${maxBytes / 1024} KB`;
  return {
    failure: `is larger than ${limit} or not UTF-8 text; put only ${content} into it`,
  };
}
