import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { isServerName, legibleServerName } from '../../../src/policies/text/name-rule.ts';

describe('the name rule', () => {
  it.each(['db', 'a.b', 'a__b', 'A', 'plugin:git:db', 'x-1', 'constructor', 'a'.repeat(100)])(
    'accepts %j',
    (name) => {
      expect(isServerName(name)).toBe(true);
      expect(legibleServerName(name)).toBe(name);
    },
  );

  it.each([
    ['', '_'],
    [' ', '_'],
    ['__proto__', 'proto'],
    ['a/b', 'a_b'],
    ['--all', '_-all'],
    ['db\n', 'db_'],
    ['naïve', 'na_ve'],
    ['\u202edb', '_db'],
    ['a'.repeat(101), 'a'.repeat(100)],
  ])('rejects %j and displays it as %j', (name, shown) => {
    expect(isServerName(name)).toBe(false);
    expect(legibleServerName(name)).toBe(shown);
  });

  it('converts any string into an allowed name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        expect(isServerName(legibleServerName(name))).toBe(true);
      }),
    );
  });
});
