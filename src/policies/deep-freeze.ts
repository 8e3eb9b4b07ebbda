/**
 * Freezes plain data through and through, and returns it.
 *
 * What many callers hold at once must not be anybody's to change. Walks without
 * recursion: a schema of a hostile server may be nested deeper than the stack.
 */
export function deepFreeze<Value>(value: Value): Value {
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== 'object' || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    waiting.push(...Object.values(next));
  }
  return value;
}
