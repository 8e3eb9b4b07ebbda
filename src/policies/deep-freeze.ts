/**
 * Freezes plain data at every depth, and returns it.
 *
 * Many callers share such data, so none may change it. It uses no recursion, because a
 * hostile server's schema may be nested deeper than the stack.
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
