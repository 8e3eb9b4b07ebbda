/**
 * Returns whether two values of plain data are deeply equal.
 *
 * Only own keys count, and no method of a value is called, because servers may use any key,
 * such as `toString` or `constructor`. The order of keys does not matter, and a key with the
 * value `undefined` differs from a missing one. Primitives are compared by `Object.is`, except
 * that 0 equals -0.
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
