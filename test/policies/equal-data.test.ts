import { isDeepStrictEqual } from 'node:util';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { equalData } from '../../src/policies/equal-data.ts';

const names = ['a', 'b', '', '__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty'];
const { data } = fc.letrec((tie) => ({
  data: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, undefined, true, 0, 1, Number.NaN, '', 'a'),
    fc.array(tie('data'), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.constantFrom(...names), tie('data')), { maxLength: 3 })
      .map((members) => Object.fromEntries(members)),
  ),
}));

describe('two plain data values', () => {
  it('are equal exactly when Node considers them equal, with any keys', () => {
    fc.assert(
      fc.property(data, data, (one, other) => {
        expect(equalData(one, other)).toBe(isDeepStrictEqual(one, other));
        expect(equalData(one, structuredClone(one))).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['an array and an object', [], {}],
    ['an object and an array', {}, []],
    ['an array and a longer one', [1], [1, 2]],
    ['arrays in different order', [1, 2], [2, 1]],
    ['an undefined key and a missing one', { a: undefined }, {}],
    ['undefined under different keys', { a: undefined }, { b: undefined }],
    ['an inherited key and another key', JSON.parse('{ "__proto__": {} }'), { a: 1 }],
    ['undefined and an object', null, {}],
    ['a number and its string form', 1, '1'],
  ])('differ when they are %s', (_what, one, other) => {
    expect(equalData(one, other)).toBe(false);
    expect(equalData(other, one)).toBe(false);
  });

  it('are equal in any key order, and 0 equals -0', () => {
    expect(equalData({ a: 1, b: [{ c: 0 }] }, { b: [{ c: -0 }], a: 1 })).toBe(true);
  });
});
