import { describe, expect, it } from 'vitest';
import { functionSchema } from '../../src/adapters/openai-schema.ts';

const text = { type: 'string' };
const closed = (properties: Record<string, unknown>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

describe("a function's schema", () => {
  it('is strict and unchanged when it is closed at every level', () => {
    const schema = closed({
      a: text,
      b: { type: ['array', 'null'], items: closed({ c: { anyOf: [text, { type: 'null' }] } }) },
    });
    expect(functionSchema(schema)).toEqual({ parameters: schema, strict: true });
    expect(functionSchema(closed({})).strict).toBe(true);
  });

  it.each([
    ['an optional argument', { ...closed({ a: text, b: text }), required: ['a'] }],
    ['additional properties', { ...closed({ a: text }), additionalProperties: true }],
    ['a nested open object', closed({ a: { type: 'object', properties: {} } })],
    ['an open object in a type union', closed({ a: { type: ['object', 'null'] } })],
    ['a keyword that strict mode may reject', closed({ a: { ...text, format: 'uri' } })],
    [
      'too many levels',
      closed({ a: closed({ a: closed({ a: closed({ a: closed({ a: text }) }) }) }) }),
    ],
    ['a missing subschema', closed({ a: true })],
  ])('is not strict with %s', (_what, schema) => {
    const { parameters, strict } = functionSchema(schema);
    expect(strict).toBe(false);
    expect(parameters).toEqual(schema);
  });

  it('is an object with properties, as the API requires', () => {
    expect(functionSchema({ type: 'object' })).toEqual({
      parameters: { type: 'object', properties: {} },
      strict: false,
    });
  });

  it('has no top-level alternatives, which the API rejects', () => {
    const schema = {
      type: 'object',
      description: 'One of two.',
      required: ['kind'],
      properties: { kind: text },
      oneOf: [
        { properties: { path: text }, required: ['path'] },
        { properties: { url: text }, required: ['url'] },
      ],
      allOf: [{ properties: { id: text }, required: ['id'] }],
    };
    expect(functionSchema(schema)).toEqual({
      parameters: {
        type: 'object',
        description: 'One of two.',
        properties: { id: text, path: text, url: text, kind: text },
        required: ['kind', 'id'],
      },
      strict: false,
    });
  });
});
