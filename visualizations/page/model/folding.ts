/**
 * Which parts of a picture are unfolded. A part is a state with its own picture: folded, it is one box; unfolded,
 * its content is drawn in place. All drawings are made in advance, because the browser computes no layout.
 */

import { fitted, type Size } from './viewport.ts';

/** A part of a picture; outer parts come before inner ones. */
export interface PartFacts {
  /** Dotted path of the state. */
  readonly path: string;
  /** Name of its own picture. */
  readonly name: string;
}

/**
 * How much a drawing shows: everything; or names and triggers, so that it fits on a screen; or names
 * only, for a phone.
 */
export const pictureScopes = ['details', 'overview', 'narrow'] as const;
export type PictureScope = (typeof pictureScopes)[number];

// A narrower frame, as on a phone, has no room for the events on the arrows.
export const narrowPixels = 600;

export interface FoldablePicture {
  readonly name: string;
  readonly parts: readonly PartFacts[];
  /** The size of each drawing, by file. */
  readonly sizes: Readonly<Record<string, Size>>;
  /** Whether all of it at once would be too large for a screen. */
  readonly foldsAtFirst: boolean;
}

/** What the user folded (false) and unfolded (true), by path. */
export type FoldChoices = ReadonlyMap<string, boolean>;

// Each picks a drawing: with more of them, split the chart instead.
const mostFoldings = 32;

/** Every set of parts that can be unfolded together; a part needs the parts around it. */
export function foldingsOf(parts: readonly PartFacts[]): readonly (readonly string[])[] {
  let all: readonly (readonly string[])[] = [[]];
  for (const { path } of parts) {
    const around = partsAround(path, parts);
    const withThis = all
      .filter((unfolded) => around.every((outer) => unfolded.includes(outer)))
      .map((unfolded) => [...unfolded, path]);
    all = [...all, ...withThis];
  }
  if (all.length > mostFoldings) {
    throw new Error(`a picture has ${all.length} foldings, more than ${mostFoldings}`);
  }
  return all;
}

/** Name of the file that shows a picture with these parts unfolded. */
export function pictureFile(
  { name, parts }: Pick<FoldablePicture, 'name' | 'parts'>,
  unfolded: readonly string[],
  scope: PictureScope = 'details',
): string {
  const names = parts.filter(({ path }) => unfolded.includes(path)).map((part) => part.name);
  const suffix = scope === 'details' ? '' : `.${scope}`;
  return `${[name, ...names].join('+')}${suffix}.svg`;
}

/** Whether an active state is in a part: such a part is always unfolded. */
export function isOnActivePath(path: string, leaves: readonly string[]): boolean {
  return leaves.some((leaf) => leaf.startsWith(`${path}.`));
}

/** The parts to unfold: the active path, the user's choices, and the rest if there is room. */
export function unfoldedParts(
  { parts, foldsAtFirst }: Pick<FoldablePicture, 'parts' | 'foldsAtFirst'>,
  leaves: readonly string[],
  choices: FoldChoices,
): readonly string[] {
  return partsWhere(
    parts,
    (path) => isOnActivePath(path, leaves) || (choices.get(path) ?? !foldsAtFirst),
  );
}

/** The names of states, of 13 pixels, can still be read. */
const readableScale = 0.72;

/**
 * The parts to unfold in an overview: the user's choices, and of the active path what leaves the
 * whole drawing readable in the frame. A folded part names its active state.
 */
export function unfoldedInOverview(
  { name, parts, sizes }: Pick<FoldablePicture, 'name' | 'parts' | 'sizes'>,
  leaves: readonly string[],
  choices: FoldChoices,
  { scope, frame }: { readonly scope: PictureScope; readonly frame: Size },
): readonly string[] {
  const active = parts.map(({ path }) => path).filter((path) => isOnActivePath(path, leaves));
  const unfolding = (count: number): readonly string[] => {
    const opened = new Set(active.slice(0, count));
    return partsWhere(parts, (path) => choices.get(path) ?? opened.has(path));
  };
  const fits = (unfolded: readonly string[]): boolean => {
    const size = sizes[pictureFile({ name, parts }, unfolded, scope)];
    return size !== undefined && fitted(size, frame).scale >= readableScale;
  };
  for (let count = active.length; count > 0; count -= 1) {
    const unfolded = unfolding(count);
    if (fits(unfolded)) return unfolded;
  }
  return unfolding(0);
}

/** The choices, and unfolds what a way passes and the user did not fold. */
export function unfoldingWay(
  choices: FoldChoices,
  parts: readonly PartFacts[],
  passed: readonly string[],
): FoldChoices {
  const crossed = parts.filter(({ path }) => isOnActivePath(path, passed));
  return new Map([...crossed.map(({ path }) => [path, true] as const), ...choices]);
}

/** The parts that are wanted, in parts that are. */
function partsWhere(
  parts: readonly PartFacts[],
  isWanted: (path: string) => boolean,
): readonly string[] {
  return parts
    .map(({ path }) => path)
    .filter((path) => [path, ...partsAround(path, parts)].every(isWanted));
}

function partsAround(path: string, parts: readonly PartFacts[]): readonly string[] {
  return parts.map((part) => part.path).filter((outer) => path.startsWith(`${outer}.`));
}
