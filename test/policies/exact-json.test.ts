import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  graftNumbers,
  holdsInexact,
  keepNumbers,
  numberTextAt,
  parseJson,
  unwritablePart,
  writeJson,
} from '../../src/policies/exact-json.ts';

const digits = fc.string({
  unit: fc.constantFrom('0', '1', '5', '9'),
  minLength: 1,
  maxLength: 24,
});
/** Every text of a number that JSON allows. */
const literal = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(
      fc.constant('0'),
      fc.tuple(fc.integer({ min: 1, max: 9 }), digits).map((parts) => parts.join('')),
    ),
    fc.oneof(
      fc.constant(''),
      digits.map((part) => `.${part}`),
    ),
    fc.constantFrom('', 'e1', 'E+03', 'e-7', 'e400'),
  )
  .map((parts) => parts.join(''));
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    literal,
    fc.string().map((value) => JSON.stringify(value)),
    fc.constantFrom('true', 'null', '""', '"\\\\"', '"1.10"'),
    fc.array(tie('json'), { maxLength: 4 }).map((parts) => `[${parts.join(',')}]`),
    fc
      .uniqueArray(
        fc.tuple(fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', 'é') }), tie('json')),
        {
          maxLength: 4,
          selector: ([key]) => key,
        },
      )
      .map(
        (members) =>
          `{${members.map(([key, part]) => `${JSON.stringify(key)}:${part}`).join(',')}}`,
      ),
  ),
}));

describe('JSON that keeps its numbers', () => {
  it('writes every text as it was read', () => {
    fc.assert(
      fc.property(json, (text) => {
        expect(writeJson(parseJson(`[${text}]`))).toBe(`[${text}]`);
      }),
      { numRuns: 2_000 },
    );
  });

  it('reads the same values as JSON.parse', () => {
    fc.assert(
      fc.property(json, (text) => {
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('finds every number that JavaScript writes differently', () => {
    fc.assert(
      fc.property(literal, (text) => {
        expect(holdsInexact(text)).toBe(String(Number(text)) !== text);
      }),
      { numRuns: 5_000 },
    );
  });

  it('keeps the numbers of copies, and drops the text of a changed number', () => {
    const from = parseJson('{"a":1.10,"b":{"c":[12e3,-0.0]},"d":1e400}') as Record<string, unknown>;
    const shallow = keepNumbers({ ...from, e: 1 }, from);
    expect(writeJson(shallow)).toBe('{"a":1.10,"b":{"c":[12e3,-0.0]},"d":1e400,"e":1}');
    const deep = structuredClone(from);
    graftNumbers(deep, from);
    expect(writeJson(deep)).toBe('{"a":1.10,"b":{"c":[12e3,-0.0]},"d":1e400}');
    deep['a'] = 2;
    expect(writeJson(deep, 1)).toContain('"a": 2,');
    expect(numberTextAt(from, 'a')).toBe('1.10');
  });

  it('keeps the order of JSON.stringify for number-like keys, and skips what it skips', () => {
    const value = parseJson('{"b":1.0,"2":2.0,"1":3.0}') as Record<string, unknown>;
    const mixed = { undefined: undefined, boxed: new Number(1.5), infinite: Infinity, value };
    expect(writeJson(mixed)).toBe(
      '{"boxed":1.5,"infinite":null,"value":{"1":3.0,"2":2.0,"b":1.0}}',
    );
  });

  it.each([
    [{ a: Number.NaN }, 'a is NaN'],
    [{ a: [1, -Infinity] }, 'a.1 is -Infinity'],
    [{ a: [undefined] }, 'a.0 is undefined'],
    [{ a: 1n }, 'a is a bigint; pass its digits as text, or parse them with parseJson'],
    [{ a: { b: () => 1 } }, 'a.b is a function'],
    [{ a: Symbol('x') }, 'a is a symbol'],
    [{ a: new Map([[1, 2]]) }, 'a is a Map'],
    [
      { a: undefined, b: new Date(0), c: [null, 'x', true, 1.5], d: Infinity - Infinity },
      'd is NaN',
    ],
    [{ a: undefined, b: new Date(0), c: [null, 'x', true, 1.5] }, undefined],
  ])('names what JSON cannot hold: %#', (value, why) => {
    expect(unwritablePart(value)).toBe(why);
  });
});
