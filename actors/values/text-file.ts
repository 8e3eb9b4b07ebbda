/**
 * Reads a text file that settings name. Only a plain file is read, and one that is confined to a
 * folder must be in it after all links are followed.
 */

import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { TextDecoder } from 'node:util';

import { readPlain } from '../files/file-system.ts';
import { isWithin, wayWithin } from '../files/way-within.ts';

/** The text, or why there is none, phrased as the end of a sentence about the file. */
type TextReading = string | { readonly failure: string };

interface TextRules {
  /** The folder that the file must be in. */
  readonly within: string | undefined;
  readonly maxBytes: number;
  /** The failure of a file that is larger, or not UTF-8. */
  readonly tooLarge: string;
}

/** Reads the file. Rejects with the file system's error. */
export async function readSettingText(file: string, rules: TextRules): Promise<TextReading> {
  return rules.within === undefined
    ? readText(file, true, rules)
    : readWithin(file, rules.within, rules);
}

/** Follows links, but only within the folder. */
async function readWithin(file: string, folder: string, rules: TextRules): Promise<TextReading> {
  const root = await realpath(folder);
  const below = isWithin(file, folder) ? path.join(root, path.relative(folder, file)) : file;
  const { place, isInside } = await wayWithin(below, root);
  if (!isInside || place === root)
    return { failure: 'leads out of the project folder; put it into the folder' };
  const text = await readText(place, false, rules);
  // A folder on the path may have been replaced by a link since.
  if ((await realpath(place)) !== place)
    return { failure: 'was exchanged while it was read; try again' };
  return text;
}

async function readText(
  file: string,
  followsLink: boolean,
  { maxBytes, tooLarge }: TextRules,
): Promise<TextReading> {
  const found = await readPlain(file, maxBytes, { followsLink });
  if (found === undefined) return { failure: 'is not a file' };
  try {
    if (found.bytes.length <= maxBytes)
      return new TextDecoder('utf-8', { fatal: true }).decode(found.bytes);
  } catch {
    // Not UTF-8.
  }
  return { failure: tooLarge };
}
