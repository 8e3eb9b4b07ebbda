/**
 * Deep equality of values whose keys are ours, and of settings documents, whose
 * keys are the user's.
 *
 * The comparison is `fast-deep-equal`. It reads `constructor`, `valueOf` and
 * `toString` of each object, so an own key of such a name makes equal objects
 * differ, or makes it throw. Therefore types keep free keys out of `equalTyped`,
 * and `equalDocuments` hides them. What a server sends is compared by `equalData`.
 */

import equal from 'fast-deep-equal';

/** `T` where every key at every depth is a declared one, else `never`. */
type Declared<T> = unknown extends T
  ? never
  : T extends readonly (infer Item)[]
    ? readonly Declared<Item>[]
    : T extends object
      ? string extends keyof T
        ? never
        : { [Key in keyof T]: Declared<T[Key]> }
      : T;

/** Compares two values of one type that has no `Record<string, …>` and no `unknown` in it. */
export function equalTyped<T>(one: T & Declared<T>, other: T & Declared<T>): boolean {
  return equal(one, other);
}

/** Compares two JSON documents, in which any key may have any name. */
export function equalDocuments(one: unknown, other: unknown): boolean {
  return equal(withEntries(one), withEntries(other));
}

/** Converts each object to a sorted list of entries, in a wrapper that distinguishes it from a list. */
function withEntries(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withEntries);
  const sorted = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return { entries: sorted.map(([key, inner]) => [key, withEntries(inner)]) };
}
