/**
 * Deep equality of values whose keys are all declared by our types.
 *
 * `fast-deep-equal` reads `constructor`, `valueOf` and `toString` of each object, so an
 * object with such a key of its own may differ from its copy, or make the comparison throw.
 * `Declared` therefore rejects free keys. `equalData` compares settings documents and data
 * from servers.
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
