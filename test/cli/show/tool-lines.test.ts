import { describe, expect, it } from 'vitest';
import { exampleWords, signatureLines, toolDetails } from '../../../src/cli/show/tool-lines.ts';
import { argumentsFromWords } from '../../../src/cli/tool-arguments.ts';
import { toolOf } from '../stand-in-troupe.ts';

const plain = (_style: unknown, text: string): string => text;
const wide = 10_000;

const signature = (properties: object, more: object = {}): string =>
  signatureLines([toolOf('db', 'f', { properties, ...more })], wide, plain).join('\n');

describe('the signature of a tool', () => {
  it.each([
    [{ a: { type: 'number' } }, {}, 'f(a?: number)'],
    [
      { b: { type: 'string' }, a: { type: 'integer' } },
      { required: ['a'] },
      'f(a: integer, b?: string)',
    ],
    [{ a: { type: 'string', default: 'x' } }, {}, 'f(a?: string = "x")'],
    [{ a: { enum: ['x', 2] } }, {}, 'f(a?: "x" | 2)'],
    [{ a: { const: true } }, {}, 'f(a?: true)'],
    [{ a: { type: ['string', 'null'] } }, {}, 'f(a?: string | null)'],
    [{ a: { type: 'array', items: { type: 'string' } } }, {}, 'f(a?: string[])'],
    [{ a: { type: 'array' } }, {}, 'f(a?: any[])'],
    [{ a: { type: 'array', items: { enum: [1, 2] } } }, {}, 'f(a?: (1 | 2)[])'],
    [{ a: { anyOf: [{ type: 'number' }, { type: 'boolean' }] } }, {}, 'f(a?: number | boolean)'],
    [{ a: {} }, {}, 'f(a?: any)'],
    [{ a: true }, {}, 'f(a?: any)'],
    [{ a: { type: 'object' } }, {}, 'f(a?: object)'],
    [
      { a: { type: 'object', properties: { x: { type: 'string' } }, required: ['x'] } },
      {},
      'f(a?: {x: string})',
    ],
    [{ a: { $ref: '#/$defs/n' } }, { $defs: { n: { type: 'number' } } }, 'f(a?: number)'],
    [{ a: { $ref: '#/$defs/none' } }, {}, 'f(a?: any)'],
  ])('writes types as a user would: %j', (properties, more, expected) => {
    expect(signature(properties, more)).toBe(expected);
  });

  it('ends for a schema that refers to itself', () => {
    const tree = { type: 'object', properties: { next: { $ref: '#/$defs/tree' } } };
    expect(signature({ a: { $ref: '#/$defs/tree' } }, { $defs: { tree } })).toBe(
      'f(a?: {next?: {next?: {next?: object}}})',
    );
    const loop = { $ref: '#/$defs/loop' };
    expect(signature({ a: loop }, { $defs: { loop } })).toBe('f(a?: any)');
  });

  it('is followed by the first line of the description, below it in a narrow terminal', () => {
    const tool = {
      ...toolOf('db', 'query', { properties: { sql: { type: 'string' } }, required: ['sql'] }),
      description: '\n  Runs a query.\nMore about it.',
      catalog: 'stale' as const,
    };
    expect(signatureLines([tool], wide, plain)).toEqual([
      'query(sql: string) — Runs a query. [stale]',
    ]);
    expect(signatureLines([tool], 24, plain)).toEqual([
      'query(sql: string)',
      '  Runs a query. [stale]',
    ]);
    expect(signatureLines([tool], 14, plain)).toEqual([
      'query(sql:',
      '    string)',
      '  Runs a quer…',
    ]);
  });

  it('contains no control characters of the server', () => {
    const evil = 'a\u001b[2J\u202eb\r\n';
    const tool = {
      ...toolOf('db', evil, { properties: { [evil]: { enum: [evil] } } }),
      description: evil,
    };
    const lines = [...signatureLines([tool], wide, plain), ...toolDetails(tool, wide, '')];
    // oxlint-disable-next-line no-control-regex
    expect(lines.join('')).not.toMatch(/[\u0000-\u001f\u202e]/u);
  });
});

describe('the details of a tool', () => {
  it('show every argument with type, default, limits and description', () => {
    const tool = {
      ...toolOf('db', 'query', {
        properties: {
          limit: { type: 'integer', minimum: 1, maximum: 9, default: 5, description: 'How many.' },
          sql: { type: 'string', description: 'The query.\nOne statement.' },
        },
        required: ['sql'],
      }),
      title: 'Query',
      description: 'Runs a query.\n\nSecond paragraph.',
      annotations: { readOnlyHint: true },
      traits: { readOnly: false, concurrencySafe: false, destructive: true, openWorld: true },
      outputSchema: { type: 'object' },
    };
    expect(toolDetails(tool, wide, 'troupe call db query sql=text')).toEqual([
      'tool         query',
      'server       db',
      'title        Query',
      'description  Runs a query.',
      '',
      '             Second paragraph.',
      'arguments',
      '  sql  string, required',
      '      The query.',
      '      One statement.',
      '  limit  integer, default 5, minimum 1, maximum 9',
      '      How many.',
      'hints        readOnlyHint: true',
      'note         not treated as read-only, because the server is not trusted; "trust" in its settings changes that',
      'example      troupe call db query sql=text',
      'output',
      '  {',
      '    "type": "object"',
      '  }',
    ]);
  });

  it.each([
    [{ a: { type: 'number' } }, 'a=1'],
    [{ a: { type: 'integer', minimum: 5 } }, 'a=5'],
    [{ a: { type: 'number', maximum: 0 } }, 'a=0'],
    [{ a: { type: 'boolean' } }, 'a=true'],
    [{ a: { type: 'string', format: 'uri' } }, 'a=https://example.com'],
    [{ a: { type: 'string', minLength: 6 } }, 'a=texttt'],
    [{ a: { enum: ['two words'] } }, "'a=two words'"],
    [{ a: { type: 'string', examples: ["it's"] } }, String.raw`'a=it'\''s'`],
    [{ a: { type: 'array', items: { type: 'number' } } }, "'a=[1]'"],
    [
      { a: { type: 'object', properties: { x: { type: 'string' } }, required: ['x'] } },
      `'a={"x":"text"}'`,
    ],
    [{ a: { anyOf: [{ type: 'boolean' }, { type: 'string' }] } }, 'a=true'],
    [{ a: {} }, 'a=text'],
  ])('end with an example that fits the schema: %j', (properties, words) => {
    const tool = toolOf('db', 'f', { properties, required: ['a'] });
    expect(exampleWords(tool)).toBe(words);
    const unquoted = words.replace(/^'(.*)'$/, '$1').replaceAll(String.raw`'\''`, "'");
    expect(argumentsFromWords([unquoted], tool.inputSchema)).toHaveProperty('a');
  });
});
