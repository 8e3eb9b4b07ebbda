import { describe, expect, it } from 'vitest';
import { parseJson, writeJson } from '../../src/domain/data/exact-json.ts';
import type { NamedField } from '../../src/domain/question.ts';
import { boundsOf, contentOf, initialOf } from '../../visualizations/page/model/question-form.ts';

const choices = [
  { value: 'r', title: 'Red' },
  { value: 'g', title: 'Green' },
];
const fields: readonly NamedField[] = [
  { name: 'name', isRequired: true, field: { type: 'string', minLength: 2 } },
  { name: 'mail', isRequired: false, field: { type: 'string', format: 'email' } },
  { name: 'age', isRequired: false, field: { type: 'integer', minimum: 1, maximum: 99 } },
  { name: 'size', isRequired: false, field: { type: 'number', default: 1.5 } },
  { name: 'sure', isRequired: false, field: { type: 'boolean' } },
  { name: 'one', isRequired: false, field: { type: 'choice', choices, default: 'g' } },
  { name: 'many', isRequired: false, field: { type: 'choices', choices, default: ['r'] } },
  { name: 'none', isRequired: false, field: { type: 'choices', choices } },
];

describe('the answer to a form', () => {
  it('holds typed values in their types, and the presets that were left', () => {
    const typed = { name: 'Ada', mail: 'a@b.de', age: ' 36 ', sure: 'false', many: [] };
    expect(contentOf(fields, typed)).toEqual({
      content: { name: 'Ada', mail: 'a@b.de', age: 36, size: 1.5, sure: false, one: 'g', many: [] },
    });
  });

  it('keeps the digits of numbers', () => {
    const form = parseJson(
      '[{"name":"id","isRequired":true,"field":{"type":"integer"}},{"name":"rate","isRequired":false,"field":{"type":"number","default":1.10}}]',
    ) as readonly NamedField[];
    const answer = contentOf(form, { id: ' 1915883588174806058 ' });
    expect(writeJson(answer)).toBe('{"content":{"id":1915883588174806058,"rate":1.10}}');
    expect(contentOf(form, { id: '007' })).toHaveProperty('problems');
  });

  it('leaves out empty fields, and presets that were emptied', () => {
    const typed = { name: 'Ada', age: '', size: '', one: '', sure: '' };
    expect(contentOf(fields, typed)).toEqual({ content: { name: 'Ada', many: ['r'] } });
  });

  it('is refused with every field that is wrong', () => {
    const typed = { mail: 'x', age: 'old', size: '5', none: ['blue'] };
    expect(contentOf(fields, typed)).toEqual({
      problems: [
        { field: 'name', message: 'is required' },
        { field: 'mail', message: expect.stringContaining('email') },
        { field: 'age', message: 'must be a number' },
        { field: 'none', message: expect.stringContaining('choices') },
      ],
    });
  });
});

it.each([
  ['at least 2 characters', { type: 'string', minLength: 2 }],
  ['from 1 to 9', { type: 'integer', minimum: 1, maximum: 9 }],
  ['at most 3 choices', { type: 'choices', choices, maxItems: 3 }],
  [undefined, { type: 'boolean' }],
  [undefined, { type: 'choice', choices }],
] as const)('the bounds of a field are %s', (bounds, field) => {
  expect(boundsOf(field)).toBe(bounds);
});

it.each([
  ['true', { type: 'boolean', default: true }],
  ['', { type: 'string' }],
  [['g'], { type: 'choices', choices, default: ['g'] }],
  [[], { type: 'choices', choices }],
] as const)('a field begins with %j', (initial, field) => {
  expect(initialOf(field)).toEqual(initial);
});
