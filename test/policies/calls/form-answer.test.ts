import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson, writeJson } from '../../../src/domain/data/exact-json.ts';
import type { FormField, NamedField } from '../../../src/domain/question.ts';
import { checkForm, faultOf } from '../../../src/policies/calls/form-answer.ts';

const choices = [
  { value: 'r', title: 'Red' },
  { value: 'g', title: 'Green' },
  { value: 'b', title: 'Blue' },
];

const text = (more: object = {}): FormField => ({ type: 'string', ...more });

/** A field, what fits it, and what does not. */
const rows: readonly (readonly [string, FormField, readonly unknown[], readonly unknown[]])[] = [
  ['text', text(), ['', 'a\nb', 'x'.repeat(65_536)], [1, null, ['a'], 'x'.repeat(65_537)]],
  [
    'text with bounds',
    text({ minLength: 2, maxLength: 3 }),
    ['ab', 'äöü', '😀😀😀'],
    ['a', 'abcd', '😀'],
  ],
  [
    'email',
    text({ format: 'email' }),
    ['a@b', 'a.b+c@d.example'],
    ['a', '@b', 'a@', 'a b@c', 'a@b@c'],
  ],
  ['address', text({ format: 'uri' }), ['https://a.example/x?y', 'mailto:a@b'], ['a.example', '']],
  [
    'date',
    text({ format: 'date' }),
    ['2026-07-28', '2024-02-29', '2000-02-29', '2026-04-30', '2026-12-31'],
    [
      '2026-7-28',
      '2026-02-29',
      '1900-02-29',
      '2026-04-31',
      '2026-13-01',
      '2026-00-10',
      '2026-01-00',
      'x',
    ],
  ],
  [
    'date and time',
    text({ format: 'date-time' }),
    ['2026-07-28T12:00:00Z', '2026-07-28T23:59:60.5+02:00'],
    [
      '2026-07-28',
      '2026-07-28T24:00:00Z',
      '2026-07-28T12:60:00Z',
      '2026-07-28T12:00:61Z',
      '2026-02-30T12:00:00Z',
    ],
  ],
  [
    'number',
    { type: 'number' },
    [0, -1.5, 1e300],
    ['1', Number.NaN, Number.POSITIVE_INFINITY, true],
  ],
  ['number with bounds', { type: 'number', minimum: 1, maximum: 2 }, [1, 1.5, 2], [0.9, 2.1]],
  ['integer', { type: 'integer' }, [0, -7], [1.5, 2 ** 53]],
  ['boolean', { type: 'boolean' }, [true, false], ['true', 0]],
  ['choice', { type: 'choice', choices }, ['r', 'b'], ['Red', '', 1]],
  ['choices', { type: 'choices', choices }, [[], ['r', 'b']], ['r', ['x'], ['r', 'r'], [1]]],
  [
    'choices with bounds',
    { type: 'choices', choices, minItems: 1, maxItems: 2 },
    [['r'], ['g', 'b']],
    [[], ['r', 'g', 'b']],
  ],
];

describe('the digits of a form', () => {
  it('are those of the answer, or of the field', () => {
    const form = parseJson(
      '[{"name":"id","isRequired":true,"field":{"type":"integer"}},{"name":"rate","isRequired":false,"field":{"type":"number","default":1.10}}]',
    ) as readonly NamedField[];
    const given = (answer: string) => parseJson(answer) as Record<string, unknown>;
    expect(writeJson(checkForm(form, given('{"id":1915883588174806058}')))).toBe(
      '{"content":{"id":1915883588174806058,"rate":1.10}}',
    );
    expect(writeJson(checkForm(form, given('{"id":1,"rate":1.1}')))).toBe(
      '{"content":{"id":1,"rate":1.1}}',
    );
  });
});

describe('a whole number', () => {
  const form: readonly NamedField[] = [
    { name: 'id', isRequired: true, field: { type: 'integer' } },
  ];
  const sent = (written: string) =>
    writeJson(checkForm(form, parseJson(`{"id":${written}}`) as Record<string, unknown>));

  it.each([
    ['1e3', '1000'],
    ['-1.50e+2', '-150'],
    ['20e-1', '2'],
    ['2.0', '2'],
    ['-0.0', '0'],
    ['0e9', '0'],
    ['0.0e-400', '0'],
    ['0e999999999999', '0'],
    ['0.0001e5', '10'],
    ['9007199254740993.0', '9007199254740993'],
    ['1e21', '1000000000000000000000'],
    ['1915883588174806058', '1915883588174806058'],
  ])('that is written as %s is sent as %s', (written, digits) => {
    expect(sent(written)).toBe(`{"content":{"id":${digits}}}`);
  });

  it.each(['1.00000000000000000001', '1e-400', '15e-1', '1e400', '1.50'])(
    'is not %s',
    (written) => {
      expect(sent(written)).toContain('"fault"');
    },
  );
});

describe('a form field', () => {
  for (const [name, field, fitting, unfitting] of rows) {
    it(`accepts valid values: ${name}`, () => {
      expect(fitting.map((value) => faultOf(field, value))).toEqual(fitting.map(() => undefined));
    });
    it(`rejects invalid values: ${name}`, () => {
      for (const value of unfitting) expect(faultOf(field, value)).toMatch(/^must /u);
    });
  }
});

const field = (name: string, isRequired: boolean, preset?: number): NamedField => ({
  name,
  isRequired,
  field: { type: 'number', ...(preset !== undefined && { default: preset }) },
});

describe('a form', () => {
  it('fills in its defaults', () => {
    const fields = [field('a', true), field('b', true, 2), field('c', false), field('d', false, 4)];
    expect(checkForm(fields, { a: 1 })).toEqual({ content: { a: 1, b: 2, d: 4 } });
    expect(checkForm(fields, { a: 1, b: 5, c: 6, d: 7 })).toEqual({
      content: { a: 1, b: 5, c: 6, d: 7 },
    });
  });

  it('reports a missing, invalid or unknown field without its value', () => {
    expect(checkForm([field('a', true)], {})).toEqual({ fault: '"a" is missing' });
    expect(checkForm([field('a', true)], { a: 'secret' })).toEqual({
      fault: '"a" must be a number',
    });
    expect(checkForm([], { b: 'secret' })).toEqual({ fault: 'there is no field "b"' });
  });

  it('cannot be bypassed with object prototype names', () => {
    const given = JSON.parse('{"__proto__": 1, "constructor": 2}') as Record<string, unknown>;
    const checked = checkForm([field('__proto__', true), field('constructor', true)], given);
    expect(JSON.stringify(checked)).toBe('{"content":{"__proto__":1,"constructor":2}}');
    expect(checkForm([field('toString', true)], {})).toEqual({ fault: '"toString" is missing' });
  });

  it('agrees with a direct implementation of its rules', () => {
    const named = fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c'),
        isRequired: fc.boolean(),
        preset: fc.option(fc.integer(), { nil: undefined }),
      }),
      { selector: ({ name }) => name },
    );
    const given = fc.dictionary(
      fc.constantFrom('a', 'b', 'c', 'd'),
      fc.oneof(fc.integer(), fc.constant('no number')),
    );
    fc.assert(
      fc.property(named, given, (fields, values) => {
        const all = {
          ...Object.fromEntries(fields.map((each) => [each.name, each.preset])),
          ...values,
        };
        const isGood = Object.entries(all).every(
          ([name, value]) =>
            fields.some(
              (each) => each.name === name && (value !== undefined || !each.isRequired),
            ) && typeof (value ?? 0) === 'number',
        );
        const form = fields.map((each) => field(each.name, each.isRequired, each.preset));
        const checked = checkForm(form, values);
        expect('content' in checked).toBe(isGood);
        if ('content' in checked) expect(checked.content).toEqual(JSON.parse(JSON.stringify(all)));
      }),
    );
  });
});
