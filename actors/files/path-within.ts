/**
 * Resolves a path within a folder without touching anything outside that folder.
 *
 * A link in a cloned repository may lead to one of the user's own files, or to a network folder,
 * which the system connects to as soon as the path is read.
 */

import { lstat, readlink } from 'node:fs/promises';
import path from 'node:path';

export interface ResolvedPath {
  /** Absolute path. Links are followed as long as they stay in the folder. */
  readonly place: string;
  /**
   * Whether the whole path stays inside the folder; if not, `place` is where it leaves the folder,
   * as written.
   */
  readonly isInside: boolean;
}

// As many links as Linux follows.
export const maxLinks = 40;

/**
 * Returns whether a path is a folder or lies below it, judging by spelling alone. Both paths are
 * absolute.
 */
export function isWithin(place: string, folder: string): boolean {
  const way = path.relative(folder, place);
  // On Windows, the relative path to another drive is absolute.
  return way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}

/**
 * Follows a path through a folder. Missing parts count as inside. Never rejects.
 * @param folder - absolute, without links
 */
export async function pathWithin(file: string, folder: string): Promise<ResolvedPath> {
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
    // The links form a loop; opening the path fails with ELOOP.
    if (linkCount > maxLinks) return { place: next, isInside: true };
    if (!path.isAbsolute(target)) {
      here = path.dirname(next);
      rest = [...partsOf(target), ...rest];
      continue;
    }
    const below = belowFolder(target, folder);
    if (below === undefined) return { place: path.resolve(target, ...rest), isInside: false };
    here = folder;
    rest = [...partsOf(below), ...rest];
  }
}

/**
 * Returns the rest of an absolute path that is spelled through the folder; undefined for other
 * paths, such as `/folder-b/../folder/file`, which leads outside before it returns.
 */
function belowFolder(target: string, folder: string): string | undefined {
  const start = folder.endsWith(path.sep) ? folder : folder + path.sep;
  if (target === folder) return '';
  return target.startsWith(start) ? target.slice(start.length) : undefined;
}

/** Reads a link's target; returns undefined if the path is not a link. */
async function targetOf(place: string): Promise<string | undefined> {
  try {
    return (await lstat(place)).isSymbolicLink() ? await readlink(place) : undefined;
  } catch {
    return undefined;
  }
}

export function partsOf(way: string): readonly string[] {
  const parts = path.sep === '/' ? way.split('/') : way.split(/[\\/]/u);
  return parts.filter((part) => part !== '' && part !== '.');
}
