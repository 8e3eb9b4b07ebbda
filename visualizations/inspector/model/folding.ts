/**
 * Which parts of a picture are unfolded. A part is a state with its own picture: folded, it is one box; unfolded,
 * its content is drawn in place. All drawings are made in advance, because the browser computes no layout.
 */

/** A part of a picture; outer parts come before inner ones. */
export interface PartFacts {
  /** Dotted path of the state. */
  readonly path: string;
  /** Name of its own picture. */
  readonly name: string;
}

export interface FoldablePicture {
  readonly name: string;
  readonly parts: readonly PartFacts[];
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
): string {
  const names = parts.filter(({ path }) => unfolded.includes(path)).map((part) => part.name);
  return `${[name, ...names].join('+')}.svg`;
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
  const isWanted = (path: string): boolean =>
    isOnActivePath(path, leaves) || (choices.get(path) ?? !foldsAtFirst);
  return parts
    .map(({ path }) => path)
    .filter((path) => [path, ...partsAround(path, parts)].every(isWanted));
}

function partsAround(path: string, parts: readonly PartFacts[]): readonly string[] {
  return parts.map((part) => part.path).filter((outer) => path.startsWith(`${outer}.`));
}
