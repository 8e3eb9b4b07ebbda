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

describe('two values of plain data', () => {
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
    ['a list and an object', [], {}],
    ['an object and a list', {}, []],
    ['a list and a longer one', [1], [1, 2]],
    ['a list in another order', [1, 2], [2, 1]],
    ['a key that is undefined and none', { a: undefined }, {}],
    ['undefined under two keys', { a: undefined }, { b: undefined }],
    ['a key that objects inherit and another', JSON.parse('{ "__proto__": {} }'), { a: 1 }],
    ['nothing and an object', null, {}],
    ['a number and its text', 1, '1'],
  ])('differ when they are %s', (_what, one, other) => {
    expect(equalData(one, other)).toBe(false);
    expect(equalData(other, one)).toBe(false);
  });

  it('are equal in any order of keys, and for both zeros', () => {
    expect(equalData({ a: 1, b: [{ c: 0 }] }, { b: [{ c: -0 }], a: 1 })).toBe(true);
  });
});
