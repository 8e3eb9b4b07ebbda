/** What callers get of results whose fields have odd shapes: the rest, and a note. */

import { describe, expect, it } from 'vitest';
import { parseJson, writeJson } from '../../src/domain/data/exact-json.ts';
import { readerFor, readToolResult } from '../../src/protocol/results.ts';

type Fields = Readonly<Record<string, unknown>>;
type Row = readonly [what: string, given: Fields, expected: Fields, notes: RegExp];

const none = /^$/u;

const one = { type: 'text', text: 'one' };
const content = [one];

function readAll(read: (result: Fields, note: (what: string) => void) => Fields, given: Fields) {
  const notes: string[] = [];
  return { result: read(given, (what) => notes.push(what)), notes };
}

describe('the result of a tool', () => {
  const rows: readonly Row[] = [
    ['no content', {}, { content: [] }, none],
    [
      'null for absent fields',
      { content: null, isError: null, _meta: null },
      { content: [] },
      none,
    ],
    ['a text as content', { content: 'one' }, { content }, /"content" is not a list/u],
    ['a block as content', { content: one }, { content }, /"content" is not a list/u],
    ['a number as content', { content: 7 }, { content: [] }, /"content" is not a list/u],
    ['text without a type', { content: [{ text: 'one' }] }, { content }, /1 of 1 entries/u],
    ['entries that are no blocks', { content: [one, null, 7, {}] }, { content }, /3 of 4 entries/u],
    ['a text for isError', { content, isError: 'true' }, { content, isError: true }, /"isError"/u],
    ['a text for no error', { content, isError: 'false' }, { content, isError: false }, /isErr/u],
    ['a number for isError', { content, isError: 0 }, { content, isError: false }, /"isError"/u],
    ['a list as _meta', { content, _meta: [1] }, { content }, /"_meta" has a wrong shape/u],
  ];

  it.each(rows)('is read with %s', (_what, given, expected, said) => {
    const { result, notes } = readAll(readToolResult as never, given);
    expect(result).toEqual(expected);
    expect(notes.join('; ')).toMatch(said);
  });

  it.each([
    { content, structuredContent: [1], isError: false, _meta: { a: 1 }, later: true },
    { content: [one, { type: 'hologram', text: 5 }], structuredContent: null },
  ])('is the object that came if all its fields fit: %j', (given) => {
    const { result, notes } = readAll(readToolResult as never, given);
    expect(result).toEqual(
      given.structuredContent === null
        ? { content: given.content, structuredContent: null }
        : given,
    );
    expect(result).toBe(given);
    expect(notes).toEqual([]);
  });

  it('keeps the digits of its numbers', () => {
    const given = parseJson('{"content":[],"isError":1,"id":1915883588174806058}') as Fields;
    const { result } = readAll(readToolResult as never, given);
    expect(writeJson(result)).toBe('{"content":[],"isError":true,"id":1915883588174806058}');
  });
});

describe('the result of another request', () => {
  const rows: readonly (readonly [Parameters<typeof readerFor>[0], ...Row])[] = [
    ['readResource', 'no contents', {}, { contents: [] }, none],
    [
      'readResource',
      'an entry that is not an object',
      { contents: [7, { uri: 'a:b' }], ttlMs: 5 },
      { contents: [{ uri: 'a:b' }], ttlMs: 5 },
      /"contents" has 1 of 2 entries/u,
    ],
    [
      'getPrompt',
      'messages that are one message, and a number as description',
      { messages: { role: 'user' }, description: 7 },
      { messages: [{ role: 'user' }] },
      /"messages" is not a list; "description"/u,
    ],
    ['complete', 'nothing', {}, { completion: { values: [] } }, none],
    [
      'complete',
      'a list as completion',
      { completion: ['a'] },
      { completion: { values: [] } },
      /"completion" has a wrong shape/u,
    ],
    [
      'complete',
      'odd fields',
      { completion: { values: ['a', 7], total: '2', hasMore: 'no' } },
      { completion: { values: ['a'] } },
      /"values" has 1 of 2 entries in a wrong shape; "total" .*; "hasMore"/u,
    ],
    [
      'complete',
      'every field',
      { completion: { values: ['a'], total: 2, hasMore: true } },
      { completion: { values: ['a'], total: 2, hasMore: true } },
      none,
    ],
  ];

  it.each(rows)('of %s is read with %s', (method, _what, given, expected, said) => {
    const { result, notes } = readAll(readerFor(method), given);
    expect(result).toEqual(expected);
    expect(notes.join('; ')).toMatch(said);
  });
});
