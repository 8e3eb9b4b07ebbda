import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../src/domain/data/exact-json.ts';
import { argumentHeaders, wrongArgumentHeader } from '../../src/protocol/argument-headers.ts';

const marked = (name: unknown, type: unknown = 'string') => ({ type, 'x-mcp-header': name });
const tool = (properties: Readonly<Record<string, unknown>>, more = {}) => ({
  type: 'object',
  properties,
  ...more,
});

describe('x-mcp-header annotations', () => {
  it.each([
    ['a schema without annotations', tool({ a: { type: 'string' } })],
    ['a schema without arguments', { type: 'object' }],
    ['invalid properties', tool({}, { properties: [marked('A')] })],
    [
      'every allowed type',
      tool({ a: marked('A'), b: marked('B', 'integer'), c: marked('C', 'boolean') }),
    ],
    ['every token character', tool({ a: marked("aZ09!#$%&'*+-.^_`|~") })],
    ['a nested argument', tool({ a: tool({ b: marked('B') }) })],
    ['an argument named like the annotation', tool({ 'x-mcp-header': { type: 'object' } })],
    [
      'values that only look like an annotation',
      tool({ a: { const: marked(''), default: marked('') } }),
    ],
  ])('are valid: %s', (_what, schema) => {
    expect(wrongArgumentHeader(schema)).toBeUndefined();
  });

  it.each([
    '',
    ' ',
    'My Region',
    'Region:Primary',
    'Région',
    'Region\t1',
    'Region\n',
    7,
    null,
    ['A'],
  ])('are rejected for the name %j', (name) => {
    expect(wrongArgumentHeader(tool({ a: marked(name) }))).toBe(
      'has an x-mcp-header that is no name of a header',
    );
  });

  it.each(['number', 'object', 'array', 'null', undefined, ['string', 'null']])(
    'are rejected for the argument type %j',
    (type) => {
      const schema = tool({ a: { ...marked('A'), type } });
      expect(wrongArgumentHeader(schema)).toMatch(/neither string, integer nor boolean/);
    },
  );

  it('are rejected if their names differ only in case, anywhere in the schema', () => {
    const twice = 'has the same x-mcp-header twice';
    expect(wrongArgumentHeader(tool({ a: marked('Region'), b: marked('region') }))).toBe(twice);
    expect(wrongArgumentHeader(tool({ a: marked('A'), b: tool({ c: marked('A') }) }))).toBe(twice);
  });

  it('are accepted only on top-level arguments', () => {
    const nowhere = 'has an x-mcp-header on what is no argument of its own';
    expect(wrongArgumentHeader(tool({}, marked('A', 'object')))).toBe(nowhere);
    const schemas = 'items contains additionalProperties not if then else propertyNames';
    for (const keyword of schemas.split(' '))
      expect([keyword, wrongArgumentHeader(tool({}, { [keyword]: marked('A') }))]).toEqual([
        keyword,
        nowhere,
      ]);
    for (const keyword of ['oneOf', 'anyOf', 'allOf', 'prefixItems'])
      expect([
        keyword,
        wrongArgumentHeader(tool({ a: { [keyword]: [true, tool({ b: marked('A') })] } })),
      ]).toEqual([keyword, nowhere]);
    for (const keyword of ['$defs', 'definitions', 'patternProperties', 'dependentSchemas'])
      expect([keyword, wrongArgumentHeader(tool({}, { [keyword]: { a: marked('A') } }))]).toEqual([
        keyword,
        nowhere,
      ]);
  });

  it('never cause an exception for any schema', () => {
    const anything = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(anything, (schema) => {
        const answer = wrongArgumentHeader(schema);
        expect(answer === undefined || answer.startsWith('has ')).toBe(true);
      }),
    );
  });
});

it('writes a text of any length as a header', () => {
  const text = 'é'.repeat(200_000);
  const header = argumentHeaders(tool({ a: marked('A') }), { a: text })?.['mcp-param-A'];
  const encoded = /^=\?base64\?(.*)\?=$/u.exec(header ?? '')?.[1];
  expect(Buffer.from(encoded ?? '', 'base64').toString() === text).toBe(true);
});

describe('argument headers', () => {
  const schema = tool({
    text: marked('Text'),
    count: marked('Count', 'integer'),
    flag: marked('Flag', 'boolean'),
    at: tool({ region: marked('Region') }),
    plain: { type: 'string' },
    any: true,
  });

  it.each([
    ['a text', { text: 'eu' }, { 'mcp-param-Text': 'eu' }],
    ['a whole number', { count: -7 }, { 'mcp-param-Count': '-7' }],
    ['a boolean', { flag: false }, { 'mcp-param-Flag': 'false' }],
    ['a nested argument', { at: { region: 'eu' } }, { 'mcp-param-Region': 'eu' }],
    ['a number that is not whole', { count: 0.5 }, { 'mcp-param-Count': '0.5' }],
    ['a number too large to be exact', { count: 2 ** 60 }, {}],
    [
      'the digits of one read from JSON',
      parseJson('{"count":1915883588174806058}'),
      { 'mcp-param-Count': '1915883588174806058' },
    ],
    ['none of another form', parseJson('{"count":1e30}'), {}],
    ['an infinite number', { count: Number.POSITIVE_INFINITY }, {}],
    ['no text', { text: null, at: 'eu', plain: 'x', any: 1 }, {}],
    ['no arguments', undefined, {}],
  ])('are written for %s', (_what, args, headers) => {
    expect(argumentHeaders(schema, args)).toEqual(headers);
  });

  it('are not written for a tool without a valid schema', () => {
    expect(argumentHeaders(undefined, {})).toBeUndefined();
    expect(argumentHeaders(tool({ a: marked('') }), { a: 'x' })).toBeUndefined();
    expect(argumentHeaders({ type: 'object' }, { a: 'x' })).toEqual({});
  });
});
