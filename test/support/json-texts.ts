/** JSON texts with all kinds of numbers, as property tests need them. */

import fc from 'fast-check';

const digits = fc.string({
  unit: fc.constantFrom('0', '1', '5', '9'),
  minLength: 1,
  maxLength: 24,
});
/** Every text of a number that JSON allows. */
export const numberText = fc
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
/** Every value, without spaces. */
export const { json: jsonText, object: objectText } = fc.letrec<{ json: string; object: string }>(
  (tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      numberText,
      fc.string().map((value) => JSON.stringify(value)),
      fc.constantFrom('true', 'null', '""', '"\\\\"', '"1.10"'),
      fc.array(tie('json'), { maxLength: 4 }).map((parts) => `[${parts.join(',')}]`),
      tie('object'),
    ),
    object: fc
      .uniqueArray(
        fc.tuple(fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', 'é') }), tie('json')),
        { maxLength: 4, selector: ([key]) => key },
      )
      .map(
        (members) =>
          `{${members.map(([key, part]) => `${JSON.stringify(key)}:${part}`).join(',')}}`,
      ),
  }),
);
