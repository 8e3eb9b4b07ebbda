import { describe, expect, it } from 'vitest';
import { printableSchema, redactedSchema } from '../../../src/policies/tools/schema-words.ts';

const limits = { description: 20, title: 10 };
const evil = '\u001b[31mred\u202e\u200b \u{e0041}text';
const clean = 'red text';

describe("a schema's titles and descriptions", () => {
  it.each<[string, Record<string, unknown>, unknown]>([
    ['at the root', { description: evil, title: evil }, { description: clean, title: clean }],
    [
      'of a property',
      { properties: { a: { type: 'string', description: evil } } },
      { properties: { a: { type: 'string', description: clean } } },
    ],
    [
      'of a property named like a schema keyword',
      { properties: { description: { description: evil }, default: { title: evil } } },
      { properties: { description: { description: clean }, default: { title: clean } } },
    ],
    [
      'in arrays, definitions and unknown keywords',
      {
        anyOf: [true, { description: evil }],
        $defs: { a: { items: { title: evil } } },
        'x-more': { b: [{ description: evil }] },
      },
      {
        anyOf: [true, { description: clean }],
        $defs: { a: { items: { title: clean } } },
        'x-more': { b: [{ description: clean }] },
      },
    ],
    [
      'of enum choices',
      { enum: [evil, 1], enumNames: [evil, 1], enumDescriptions: ['plain'], $comment: evil },
      { enum: [evil, 1], enumNames: [clean, 1], enumDescriptions: ['plain'], $comment: clean },
    ],
    [
      'beyond the length limit',
      { description: 'd'.repeat(21), title: 't'.repeat(11) },
      { description: `${'d'.repeat(19)}…`, title: `${'t'.repeat(9)}…` },
    ],
  ])('%s are made printable', (_where, schema, expected) => {
    expect(printableSchema(schema, limits)).toEqual(expected);
  });

  it('are removed when descriptions are disabled', () => {
    const schema = { description: 'a', properties: { a: { description: 'b', title: 'c' } } };
    expect(printableSchema(schema, { ...limits, description: 0 })).toEqual({
      properties: { a: { title: 'c' } },
    });
  });
});

describe('the rest of a schema', () => {
  it.each<Record<string, unknown>>([
    { properties: { [evil]: { const: evil, default: { description: evil } } }, required: [evil] },
    { enum: [{ title: evil }], examples: [{ description: evil }], pattern: evil },
    { title: 5, description: { nested: evil }, enumNames: evil, properties: evil },
  ])('is unchanged: %j', (schema) => {
    expect(printableSchema(schema, limits)).toBe(schema);
  });

  it('keeps its order when a description changes', () => {
    const schema = JSON.parse(
      `{"type":"object","properties":{"b":{"description":"\\u200bx"},"__proto__":{"type":"null"},"a":{}},"required":["b"]}`,
    ) as Record<string, unknown>;
    expect(JSON.stringify(printableSchema(schema, limits))).toBe(
      `{"type":"object","properties":{"b":{"description":"x"},"__proto__":{"type":"null"},"a":{}},"required":["b"]}`,
    );
  });
});

describe('secret redaction in a schema', () => {
  const secrets = ['hunter2-value'];
  const redacted = (schema: Record<string, unknown>) => redactedSchema(schema, secrets);

  it.each<[string, Record<string, unknown>, unknown]>([
    ['a description', { description: 'use hunter2-value' }, { description: 'use [redacted]' }],
    ['a title', { title: 'hunter2-value' }, { title: '[redacted]' }],
    [
      'a property default',
      { properties: { default: { type: 'string', default: 'hunter2-value' } } },
      { properties: { default: { type: 'string', default: '[redacted]' } } },
    ],
    [
      'values at any depth',
      { examples: [{ a: ['hunter2-value', 1] }], enum: ['hunter2-value', null], enumNames: [1] },
      { examples: [{ a: ['[redacted]', 1] }], enum: ['[redacted]', null], enumNames: [1] },
    ],
  ])('covers %s', (_where, schema, expected) => {
    expect(redacted(schema)).toEqual(expected);
  });

  it('keeps values that calls need and returns a schema without secrets unchanged', () => {
    const schema = {
      type: 'object',
      properties: { 'hunter2-value': { type: 'string', pattern: 'hunter2-value' } },
      required: ['hunter2-value'],
      description: 'harmless',
      default: { a: 1 },
    };
    expect(redacted(schema)).toBe(schema);
  });
});
