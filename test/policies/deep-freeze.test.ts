import { describe, expect, it } from 'vitest';
import { deepFreeze } from '../../src/policies/deep-freeze.ts';

describe('a deeply frozen value', () => {
  it('cannot be changed at any depth', () => {
    const value = deepFreeze({ a: { b: [{ c: 1 }] }, d: null, e: 'text' });
    expect(() => {
      (value.a.b[0] as { c: number }).c = 2;
    }).toThrow(TypeError);
    expect(() => value.a.b.push({ c: 3 })).toThrow(TypeError);
  });

  it('may contain cycles and be nested deeper than the call stack', () => {
    const ring: { next?: unknown } = {};
    let top: { next?: unknown } = ring;
    for (let depth = 0; depth < 100_000; depth += 1) top = { next: top };
    ring.next = top;
    expect(Object.isFrozen(deepFreeze(top))).toBe(true);
    expect(Object.isFrozen(ring)).toBe(true);
  });
});
