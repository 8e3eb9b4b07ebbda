/**
 * Finds where a path in a folder leads without touching anything outside that folder.
 *
 * A link of a cloned repository may name a network folder, which the system connects to as soon
 * as it is looked up, or a file of the user's own.
 */

import { lstat, readlink } from 'node:fs/promises';
import path from 'node:path';

export interface Way {
  /** Absolute. Links are followed as long as they stay in the folder. */
  readonly place: string;
  /** Whether all of the way is in the folder; otherwise `place` is where it leaves it, as written. */
  readonly isInside: boolean;
}

// As many links as Linux follows.
const maxLinks = 40;

/** Says whether a path is a folder or below it, by its spelling alone. Both are absolute. */
export function isWithin(place: string, folder: string): boolean {
  const way = path.relative(folder, place);
  // On Windows the way to another drive is absolute.
  return way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}

/**
 * Follows a path through a folder. What is missing counts as inside. Never rejects.
 * @param folder - absolute, without links
 */
export async function wayWithin(file: string, folder: string): Promise<Way> {
  if (!isWithin(file, folder)) return { place: file, isInside: false };
  let here = folder;
  let rest = partsOf(path.relative(folder, file));
  let linkCount = 0;
  for (;;) {
    const [part, ...more] = rest;
    if (part === undefined) return { place: here, isInside: true };
    const next = path.join(here, part);
    if (!isWithin(next, folder)) return { place: path.join(next, ...more), isInside: false };
    const target = part === '..' ? undefined : await targetOf(next);
    rest = more;
    here = next;
    if (target === undefined) continue;
    linkCount += 1;
    // Whoever opens it is told that it goes round in circles.
    if (linkCount > maxLinks) return { place: next, isInside: true };
    if (!path.isAbsolute(target)) {
      here = path.dirname(next);
      rest = [...partsOf(target), ...rest];
    } else if (isWithin(path.resolve(target), folder) && target.startsWith(folder)) {
      here = folder;
      rest = [...partsOf(target.slice(folder.length)), ...rest];
    } else return { place: path.resolve(target, ...rest), isInside: false };
  }
}

/** Of a link; undefined for all else, and where nothing is. */
async function targetOf(place: string): Promise<string | undefined> {
  try {
    return (await lstat(place)).isSymbolicLink() ? await readlink(place) : undefined;
  } catch {
    return undefined;
  }
}

function partsOf(way: string): readonly string[] {
  const parts = path.sep === '/' ? way.split('/') : way.split(/[\\/]/u);
  return parts.filter((part) => part !== '' && part !== '.');
}
