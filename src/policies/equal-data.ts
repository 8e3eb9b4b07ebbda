/**
 * Returns whether two values of plain data hold the same.
 *
 * Only own keys count, and no method of a value is ever called: tools of servers
 * bring keys of any name, `toString` and `constructor` among them. The order of
 * keys says nothing, that of lists does; a key that is `undefined` is there. What
 * is neither list nor object is compared by `Object.is`, but that 0 equals -0.
 */
export function equalData(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isObject(one) || !isObject(other)) return Object.is(one, other);
  if (Array.isArray(one) || Array.isArray(other)) return equalLists(one, other);
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && equalData(one[key], other[key]))
  );
}

function equalLists(one: unknown, other: unknown): boolean {
  return (
    Array.isArray(one) &&
    Array.isArray(other) &&
    one.length === other.length &&
    one.every((item, index) => equalData(item, other[index]))
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
