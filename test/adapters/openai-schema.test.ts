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
  it('is strict and unchanged when it is closed on every level', () => {
    const schema = closed({
      a: text,
      b: { type: ['array', 'null'], items: closed({ c: { anyOf: [text, { type: 'null' }] } }) },
    });
    expect(functionSchema(schema)).toEqual({ parameters: schema, strict: true });
    expect(functionSchema(closed({})).strict).toBe(true);
  });

  it.each([
    ['an argument that may be left out', { ...closed({ a: text, b: text }), required: ['a'] }],
    ['room for more', { ...closed({ a: text }), additionalProperties: true }],
    ['an open object inside', closed({ a: { type: 'object', properties: {} } })],
    ['an open object among types', closed({ a: { type: ['object', 'null'] } })],
    ['a word that strict mode may refuse', closed({ a: { ...text, format: 'uri' } })],
    [
      'more levels than it takes',
      closed({ a: closed({ a: closed({ a: closed({ a: closed({ a: text }) }) }) }) }),
    ],
    ['no schema where one belongs', closed({ a: true })],
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

  it('has no alternatives at the top, which the API refuses', () => {
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
