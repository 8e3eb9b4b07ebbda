/** Suggests corrections for mistyped names. */

// A third of the letters may be wrong, but at most three: beyond that, a guess is
// unlikely to be right.
const mostEdits = 3;
const lettersPerEdit = 3;
// No valid name is longer; the work grows with the square of the length.
const maxLength = 128;

/**
 * Finds the name closest to a mistyped word; undefined when none is close enough.
 *
 * The distance counts letters that are missing, added, replaced or swapped with their
 * neighbour, and ignores case. Ties go to the first name in code-unit order, so the result
 * does not depend on the order of the names.
 */
export function closestName(word: string, names: Iterable<string>): string | undefined {
  const sought = word.toLowerCase();
  let closest: { readonly name: string; readonly edits: number } | undefined;
  for (const name of names) {
    const edits = nearness(sought, name.toLowerCase());
    if (edits === undefined) continue;
    const nearer =
      closest === undefined ||
      edits < closest.edits ||
      (edits === closest.edits && name < closest.name);
    if (nearer) closest = { name, edits };
  }
  return closest?.name;
}

/** Returns the names that a word is the first part of, as `claude` of `claude-code`; else the closest one. */
export function namesMeant(word: string, names: readonly string[]): readonly string[] {
  const longer = names.filter((name) => name.startsWith(`${word.toLowerCase()}-`));
  const closest = longer.length > 0 ? undefined : closestName(word, names);
  return closest === undefined ? longer : [closest];
}

/** Returns the message about an unknown key, with the closest known one. */
export function unknownKeyMessage(key: string, names: readonly string[]): string {
  const closest = closestName(key, names);
  return closest === undefined
    ? `unknown key; remove it or write one of ${names.join(', ')}`
    : `unknown key; did you mean "${closest}"?`;
}

/** Returns the hint about an unknown name: the closest known one, or the given text. */
export function nameHint(word: string, names: Iterable<string>, otherwise: string): string {
  const closest = closestName(word, names);
  return closest === undefined ? otherwise : `Did you mean ${closest}?`;
}

function nearness(word: string, name: string): number | undefined {
  const longer = Math.max(word.length, name.length);
  const allowed = Math.min(mostEdits, Math.max(1, Math.floor(longer / lettersPerEdit)), longer - 1);
  if (longer > maxLength || Math.abs(word.length - name.length) > allowed) return undefined;
  const edits = editsBetween(word, name, allowed);
  return edits > allowed || isAnotherEnding(word, name) ? undefined : edits;
}

/**
 * A long common prefix, such as `mcp__db__`, makes any two short endings similar, so
 * the endings are also compared alone, with at most one wrong letter in two.
 */
function isAnotherEnding(word: string, name: string): boolean {
  const start = sharedQualifier(word, name);
  if (start === 0) return false;
  const [ending, other] = [word.slice(start), name.slice(start)];
  const longer = Math.max(ending.length, other.length);
  const allowed = Math.max(1, Math.floor(longer / 2));
  return editsBetween(ending, other, allowed) > allowed;
}

/** Returns the length of the common prefix, up to its last separator. */
function sharedQualifier(word: string, name: string): number {
  let shared = 0;
  while (shared < word.length && word[shared] === name[shared]) shared += 1;
  const start = word.slice(0, shared);
  return 1 + Math.max(...['_', '-', '.', ':'].map((mark) => start.lastIndexOf(mark)));
}

/**
 * Computes the optimal string alignment distance row by row, and returns infinity as soon as
 * it must exceed `allowed`: the minimum of a row never decreases, not even by a swap, which
 * looks back two rows.
 */
function editsBetween(word: string, name: string, allowed: number): number {
  let older: readonly number[] = [];
  let previous: readonly number[] = Array.from({ length: name.length + 1 }, (_, index) => index);
  for (let row = 1; row <= word.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= name.length; column += 1) {
      const same = word[row - 1] === name[column - 1];
      const swapped = word[row - 1] === name[column - 2] && word[row - 2] === name[column - 1];
      current.push(
        Math.min(
          at(previous, column) + 1,
          at(current, column - 1) + 1,
          at(previous, column - 1) + (same ? 0 : 1),
          at(older, column - 2) + (swapped ? 1 : Infinity),
        ),
      );
    }
    if (Math.min(...current) > allowed) return Infinity;
    older = previous;
    previous = current;
  }
  return at(previous, name.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
