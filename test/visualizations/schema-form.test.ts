import { describe, expect, it } from 'vitest';
import { parseJson, writeJson } from '../../src/domain/data/exact-json.ts';
import { argumentsOf, fieldsOf } from '../../visualizations/page/model/schema-form.ts';

const schema = {
  type: 'object',
  required: ['path', 'depth', 'tags'],
  properties: {
    note: { type: 'string' },
    path: { type: 'string', title: 'Path', description: 'Where.' },
    depth: { type: 'integer', minimum: 1 },
    ratio: { type: ['number', 'null'] },
    deep: { type: 'boolean' },
    mode: { enum: ['fast', 'slow'], default: 'slow' },
    tags: { type: 'array', items: { type: 'string' } },
    sizes: { type: 'array', items: { type: 'integer' } },
    filter: { type: 'object' },
    maybe: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  },
};
const fields = fieldsOf(schema);

describe("a tool's form", () => {
  it('has a field for each argument, required ones first', () => {
    expect(fields.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'path text',
      'depth integer',
      'tags list',
      'note text',
      'ratio number',
      'deep boolean',
      'mode choice',
      'sizes list',
      'filter json',
      'maybe text',
    ]);
    expect(fields[1]?.hint).toBe('at least 1');
  });

  it('converts the input to arguments and omits empty fields', () => {
    expect(
      argumentsOf(fields, {
        path: 'a b',
        depth: ' 3 ',
        tags: 'x\ny\n',
        deep: 'false',
        sizes: '1\n2',
        filter: '{"a": [1]}',
      }),
    ).toEqual({
      args: {
        path: 'a b',
        depth: 3,
        tags: ['x', 'y'],
        deep: false,
        mode: 'slow',
        sizes: [1, 2],
        filter: { a: [1] },
      },
    });
  });

  it('reports each invalid field', () => {
    expect(argumentsOf(fields, { path: '', depth: '1.5', sizes: 'x', filter: '{a}' })).toEqual({
      problems: [
        { field: 'depth', message: '1.5 is not a whole number' },
        { field: 'sizes', message: '"x" is not a number' },
        { field: 'filter', message: 'is not JSON; strings need quotation marks' },
      ],
    });
    expect(argumentsOf(fields, { path: 'a' })).toEqual({
      problems: [{ field: 'depth', message: 'is required' }],
    });
  });

  it('preserves the types of choices', () => {
    const [field] = fieldsOf({
      properties: { level: { oneOf: [{ const: 1, title: 'One' }, { const: 2 }] } },
    });
    expect(field?.options?.map(({ label }) => label)).toEqual(['One', '2']);
    expect(argumentsOf(field === undefined ? [] : [field], { level: '1' })).toEqual({
      args: { level: 2 },
    });
  });

  it('keeps the digits of numbers that are typed, preset or chosen', () => {
    const listed = parseJson(
      '{"properties":{"id":{"type":"integer"},"rate":{"type":"number","default":1.10},"one":{"enum":[1915883588174806058,2]},"ids":{"type":"array","items":{"type":"integer"}},"any":{}}}',
    ) as Record<string, unknown>;
    const typed = {
      id: '1915883588174806058',
      one: '0',
      ids: '9007199254740993',
      any: '{"a":1.0}',
    };
    const answer = argumentsOf(fieldsOf(listed), typed);
    expect(writeJson('args' in answer ? answer.args : answer)).toBe(
      '{"id":1915883588174806058,"rate":1.10,"one":1915883588174806058,"ids":[9007199254740993],"any":{"a":1.0}}',
    );
    expect(argumentsOf(fieldsOf(listed), { id: '007' })).toMatchObject({
      problems: [{ field: 'id', message: '"007" is not a number' }],
    });
  });

  it('has no fields for an empty schema', () => {
    expect(fieldsOf({})).toEqual([]);
    expect(argumentsOf([], {})).toEqual({ args: {} });
  });
});
