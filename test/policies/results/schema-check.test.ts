import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitsSchema } from '../../../src/policies/results/schema-check.ts';

const no = (schema: unknown, value: unknown) => [schema, value, false] as const;
const yes = (schema: unknown, value: unknown) => [schema, value, true] as const;
const unsure = (schema: unknown, value: unknown) => [schema, value, undefined] as const;

// Processor time, which other work on the machine does not lengthen. Without bounds, the values
// below take minutes.
const boundMicros = 3_000_000;

describe('a value', () => {
  it.each([
    yes(true, 1),
    no(false, 1),
    unsure(5, 1),
    yes({}, 1),
    yes({ title: 'x', other: 1 }, 1),
    yes({ type: 'string' }, 'a'),
    no({ type: 'string' }, 1),
    yes({ type: ['string', 'null'] }, null),
    no({ type: ['string', 'null'] }, true),
    yes({ type: 'integer' }, 2),
    no({ type: 'integer' }, 2.5),
    yes({ type: 'boolean' }, false),
    yes({ type: 'number' }, 2.5),
    yes({ type: 'array' }, []),
    no({ type: 'object' }, []),
    unsure({ type: 'date' }, 1),
    yes({ enum: [1, { a: 1 }] }, { a: 1 }),
    no({ enum: [1] }, 2),
    unsure({ enum: 1 }, 1),
    yes({ const: [1] }, [1]),
    no({ const: [1] }, [2]),
    yes({ minimum: 2, maximum: 2 }, 2),
    no({ minimum: 2 }, 1),
    no({ maximum: 2 }, 3),
    yes({ minimum: 2 }, 'a'),
    no({ exclusiveMinimum: 2 }, 2),
    no({ exclusiveMaximum: 2 }, 2),
    unsure({ exclusiveMinimum: true }, 2),
    yes({ minLength: 1, maxLength: 1 }, '😀'),
    no({ minLength: 2 }, '😀'),
    no({ maxLength: 1 }, 'ab'),
    no({ minItems: 1 }, []),
    no({ maxItems: 0 }, [1]),
    no({ minProperties: 1 }, {}),
    no({ maxProperties: 0 }, { a: 1 }),
    yes({ required: ['a'] }, { a: undefined }),
    no({ required: ['a'] }, {}),
    no({ required: ['toString'] }, {}),
    unsure({ required: true }, {}),
    yes({ required: ['a'] }, []),
    yes({ properties: { a: { type: 'string' } } }, { a: 'a', b: 1 }),
    no({ properties: { a: { type: 'string' } } }, { a: 1 }),
    yes({ properties: { toString: false } }, {}),
    unsure({ properties: 1 }, {}),
    no({ properties: { a: {} }, additionalProperties: false }, { a: 1, b: 1 }),
    yes({ properties: { a: {} }, additionalProperties: false }, { a: 1 }),
    no({ additionalProperties: { type: 'string' } }, { a: 1 }),
    unsure({ patternProperties: { '^(a+)+$': {} }, additionalProperties: false }, { b: 1 }),
    yes({ items: { type: 'string' } }, ['a']),
    no({ items: { type: 'string' } }, ['a', 1]),
    unsure({ items: [{ type: 'string' }] }, [1]),
    yes({ prefixItems: [{ type: 'string' }], items: false }, ['a']),
    no({ prefixItems: [{ type: 'string' }], items: false }, ['a', 1]),
    no({ prefixItems: [{ type: 'string' }] }, [1]),
    yes({ prefixItems: [{ type: 'string' }] }, []),
    unsure({ prefixItems: 1 }, [1]),
    no({ allOf: [true, false] }, 1),
    unsure({ allOf: 1 }, 1),
    yes({ anyOf: [false, true] }, 1),
    no({ anyOf: [false, false] }, 1),
    unsure({ anyOf: [false, { pattern: 'a' }] }, 1),
    yes({ oneOf: [false, true] }, 1),
    no({ oneOf: [true, true] }, 1),
    no({ oneOf: [true, true, { pattern: 'a' }] }, 1),
    no({ oneOf: [false] }, 1),
    unsure({ oneOf: [true, { pattern: 'a' }] }, 1),
    no({ not: true }, 1),
    yes({ not: false }, 1),
    unsure({ not: { pattern: 'a' } }, 1),
    no({ $ref: '#/$defs/a~1~0b', $defs: { 'a/~b': { type: 'string' } } }, 1),
    yes({ $ref: '#/$defs/0', $defs: [true] }, 1),
    unsure({ $ref: '#/$defs/none/deeper' }, 1),
    unsure({ $ref: '#/$defs/toString', $defs: {} }, 1),
    unsure({ $ref: 'https://elsewhere.example/schema' }, 1),
    unsure({ $ref: '#anchor' }, 1),
    unsure({ $ref: 5 }, 1),
    // What stands beside a reference counts in some dialects only.
    unsure({ $ref: '#/$defs/a', $defs: { a: true }, type: 'string' }, 1),
    no({ $ref: '#/$defs/a', $defs: { a: false }, type: 'number' }, 1),
    unsure({ allOf: [{ $id: 'https://elsewhere.example', type: 'string' }] }, 1),
    no({ $id: 'https://here.example', type: 'string' }, 1),
    // A list of names: whatever we do not read makes nothing certain.
    ...['pattern', 'format', 'if', 'uniqueItems', 'contains', 'multipleOf', '$dynamicRef'].map(
      (word) => unsure({ [word]: 'x' }, 'a'),
    ),
    no({ pattern: 'x', type: 'number' }, 'a'),
  ])('is checked against %j: %j %s', (schema, value, expected) => {
    expect(fitsSchema(schema, value)).toBe(expected);
  });

  it('is undecided for an endlessly recursive schema', () => {
    expect(fitsSchema({ $ref: '#' }, 1)).toBeUndefined();
    expect(fitsSchema({ allOf: [{ $ref: '#' }, { $ref: '#' }] }, 1)).toBeUndefined();
    const list = { type: 'object', properties: { next: { $ref: '#' } } };
    expect(fitsSchema(list, { next: { next: { next: 1 } } })).toBe(false);
  });

  it('is checked in a bounded number of steps against exponential references', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [
        `d${at}`,
        { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
      ]),
    );
    const before = process.cpuUsage();
    expect(fitsSchema({ $ref: '#/$defs/d0', $defs }, 1)).toBeUndefined();
    expect(process.cpuUsage(before).user).toBeLessThan(boundMicros);
  });

  const often = (schema: unknown, $defs: unknown) => ({
    items: { allOf: Array.from({ length: 5_000 }, () => schema) },
    $defs,
  });
  const many = Array.from({ length: 20_000 }, (_, at) => `n${at}`);
  const named = Object.fromEntries(many.map((name) => [name, true]));
  const pointed = { $ref: '#/$defs/a' };
  it.each<[string, unknown, unknown]>([
    ["a long string's length", often({ minLength: 1 }, {}), 'x'.repeat(4_000_000)],
    ['a long constant', often(pointed, { a: { const: many } }), many],
    [
      'a long constant string',
      often(pointed, { a: { const: 'x'.repeat(200_000) } }),
      'x'.repeat(200_000),
    ],
    ['a long enum', often(pointed, { a: { enum: [many] } }), [...many]],
    ['many required names', often(pointed, { a: { required: many } }), named],
    ['many declared properties', often(pointed, { a: { properties: named } }), {}],
    ['a property count', often({ maxProperties: 50_000 }, {}), named],
    ['additional properties', often({ additionalProperties: true }, {}), named],
    ['many keywords', often(pointed, { a: named }), 1],
    ['a long list of types', often(pointed, { a: { type: many } }), 1],
    ['a long reference', often({ $ref: `#${'/a'.repeat(20_000)}` }, {}), 1],
  ])('is checked in a bounded number of steps: %s', (_what, schema, one) => {
    const before = process.cpuUsage();
    expect(fitsSchema(schema, Array(20).fill(one))).toBeUndefined();
    expect(process.cpuUsage(before).user).toBeLessThan(boundMicros);
  });

  it('is decided within the step limit, and undecided with one step fewer', () => {
    const schema = { items: { enum: [1, 2, 3] } };
    expect(fitsSchema(schema, [1, 1], 9)).toBe(true);
    expect(fitsSchema({ allOf: [true, {}] }, 1, 3)).toBe(true);
    expect(fitsSchema({ allOf: [true, {}] }, 1, 2)).toBeUndefined();
    // Eight names cost two steps to look up, and each one to be judged.
    const eight = Object.fromEntries(many.slice(0, 8).map((name) => [name, 1]));
    expect(fitsSchema({ additionalProperties: true }, eight, 11)).toBe(true);
    expect(fitsSchema({ additionalProperties: true }, eight, 2)).toBeUndefined();
  });

  it('is never matched against a pattern', () => {
    const schema = { pattern: '^(a+)+$', properties: { a: { pattern: '^(a+)+$' } } };
    const before = process.cpuUsage();
    expect(fitsSchema(schema, { a: `${'a'.repeat(50)}!` })).toBeUndefined();
    expect(process.cpuUsage(before).user).toBeLessThan(boundMicros);
  });

  it("gets a full validator's decision, or none", () => {
    const { schema } = fc.letrec((tie) => ({
      schema: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom({ type: 'string' }, { type: 'integer' }, { const: 1 }, { enum: ['a', 2] }),
        fc.constantFrom({ minimum: 1 }, { maxLength: 1 }, { required: ['a'] }, { maxItems: 1 }),
        fc.record({
          properties: fc.record({ a: tie('schema') }),
          additionalProperties: fc.boolean(),
        }),
        fc.record({ items: tie('schema') }),
        fc.record({ not: tie('schema') }),
        fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
        fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
        fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      ),
    }));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 2 },
        fc.constantFrom('a', 'bc', 1, 2, 0, 1.5, null, true),
        fc.array(tie('value'), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom('a', 'b'), tie('value')),
      ),
    }));
    const whole = new AjvJsonSchemaValidator();
    fc.assert(
      fc.property(schema, value, (one, given) => {
        const { valid } = whole.getValidator(one as never)(given);
        expect(fitsSchema(one, given)).toBe(valid);
      }),
      { numRuns: 300 },
    );
  });
});
