// With 64, a change among ten thousand entries copies about 64 of them and a list of 157 groups.
const groupSize = 64;

/**
 * An immutable map whose changed copies cost the same however many entries it has: entries are
 * spread over groups of about 64 by a hash of their key, and a copy shares all groups that it does
 * not change.
 *
 * Up to 64 entries are iterated in the order of their insertion, more by group. The order depends
 * only on the changes made, never on chance.
 */
export class GroupedMap<Value> {
  readonly size: number;
  /** Their number is a power of two. */
  readonly #groups: readonly ReadonlyMap<string, Value>[];

  private constructor(groups: readonly ReadonlyMap<string, Value>[], size: number) {
    this.#groups = groups;
    this.size = size;
  }

  static of<Value>(entries: Iterable<readonly [key: string, value: Value]> = []) {
    return new GroupedMap<Value>([new Map()], 0).withAll(entries);
  }

  get(key: string): Value | undefined {
    return this.#groups[indexOf(key, this.#groups.length)]?.get(key);
  }

  has(key: string): boolean {
    return this.#groups[indexOf(key, this.#groups.length)]?.has(key) === true;
  }

  *keys(): Generator<string, undefined> {
    for (const group of this.#groups) yield* group.keys();
  }

  *values(): Generator<Value, undefined> {
    for (const group of this.#groups) yield* group.values();
  }

  *[Symbol.iterator](): Generator<[key: string, value: Value], undefined> {
    for (const group of this.#groups) yield* group;
  }

  with(key: string, value: Value): GroupedMap<Value> {
    return this.withAll([[key, value]]);
  }

  without(key: string): GroupedMap<Value> {
    return this.withAll([[key, undefined]]);
  }

  /**
   * Returns a map with these changes, of which `undefined` deletes an entry. Returns this map if
   * nothing differs.
   */
  withAll(changes: Iterable<readonly [key: string, value: Value | undefined]>): GroupedMap<Value> {
    // Usually one key changes, or none, so the list of groups is copied only when needed.
    let groups: ReadonlyMap<string, Value>[] | undefined;
    const copies = new Map<number, Map<string, Value>>();
    let { size } = this;
    for (const [key, value] of changes) {
      const index = indexOf(key, this.#groups.length);
      const group = (groups ?? this.#groups)[index] as ReadonlyMap<string, Value>;
      if (group.get(key) === value) continue;
      const copy = copies.get(index) ?? new Map(group);
      copies.set(index, copy);
      groups ??= [...this.#groups];
      groups[index] = copy;
      size -= copy.size;
      if (value === undefined) copy.delete(key);
      else copy.set(key, value);
      size += copy.size;
    }
    if (groups === undefined) return this;
    return new GroupedMap(regrouped(groups, size), size);
  }

  /** Returns the keys whose values differ from those of an earlier map. */
  changesSince(before: GroupedMap<Value>): readonly string[] {
    if (before.#groups.length !== this.#groups.length) return changesBetween(before, this);
    // A key is in the same group of both, so nothing is hashed.
    const gone: string[] = [];
    const changed: string[] = [];
    for (let index = 0; index < this.#groups.length; index += 1) {
      const earlier = before.#groups[index] as ReadonlyMap<string, Value>;
      const now = this.#groups[index] as ReadonlyMap<string, Value>;
      if (earlier === now) continue;
      for (const key of earlier.keys()) if (!now.has(key)) gone.push(key);
      for (const [key, value] of now) if (earlier.get(key) !== value) changed.push(key);
    }
    return [...gone, ...changed];
  }
}

function changesBetween<Value>(
  before: GroupedMap<Value>,
  now: GroupedMap<Value>,
): readonly string[] {
  const gone = [...before.keys()].filter((key) => !now.has(key));
  const changed = [...now].filter(([key, value]) => before.get(key) !== value);
  return [...gone, ...changed.map(([key]) => key)];
}

/** Returns twice as many groups, as often as needed, if these have become too large. */
function regrouped<Value>(
  groups: readonly ReadonlyMap<string, Value>[],
  size: number,
): readonly ReadonlyMap<string, Value>[] {
  let count = groups.length;
  while (size > count * groupSize) count *= 2;
  if (count === groups.length) return groups;
  const spread = Array.from({ length: count }, () => new Map<string, Value>());
  for (const group of groups)
    for (const [key, value] of group) spread[indexOf(key, count)]?.set(key, value);
  return spread;
}

/** FNV-1a: short, and spreads names that differ only in their last digits. */
function indexOf(key: string, count: number): number {
  if (count === 1) return 0;
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at += 1)
    hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  // The upper bits vary more.
  return (hash ^ (hash >>> 16)) & (count - 1);
}
