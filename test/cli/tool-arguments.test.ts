import { describe, expect, it } from 'vitest';
import {
  argumentsFromJson,
  argumentsFromWords,
  unlistedNotes,
} from '../../src/cli/tool-arguments.ts';
import { writeJson } from '../../src/domain/data/exact-json.ts';

const schema = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    loud: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    sizes: { type: 'array', items: { type: 'number' } },
    filter: { type: 'object' },
    mode: { enum: ['fast', 'slow', 3] },
    either: { type: ['number', 'string'] },
    maybe: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
    open: {},
  },
  additionalProperties: false,
};

const read = (...words: string[]) => argumentsFromWords(words, schema);

describe('tool arguments', () => {
  it.each([
    ['count=1915883588174806058', '{"count":1915883588174806058}'],
    ['count=-9223372036854775808', '{"count":-9223372036854775808}'],
    ['ratio=1.10', '{"ratio":1.10}'],
    ['ratio=-0.0', '{"ratio":-0.0}'],
    ['ratio=12e3', '{"ratio":12e3}'],
    ['ratio=1e400', '{"ratio":1e400}'],
    ['count=12E+3', '{"count":12E+3}'],
    ['sizes=9007199254740993', '{"sizes":[9007199254740993]}'],
    ['sizes=[9007199254740993,1.0]', '{"sizes":[9007199254740993,1.0]}'],
    ['filter={"id":1915883588174806058}', '{"filter":{"id":1915883588174806058}}'],
    ['text=1.10', '{"text":"1.10"}'],
    ['either=007', '{"either":"007"}'],
    ['either=1.10', '{"either":"1.10"}'],
    ['either=7', '{"either":7}'],
  ])('are sent with the digits that were typed: %s', (word, sent) => {
    expect(writeJson(read(word))).toBe(sent);
  });

  it('keep the digits of --args', () => {
    const text = '{"id":1915883588174806058,"rate":1.10,"big":1e400,"zero":-0.0}';
    expect(writeJson(argumentsFromJson(text, '--args'))).toBe(text);
  });

  it('are parsed according to the schema', () => {
    expect(
      read('text=12', 'count=12', 'ratio=-1.5e3', 'loud=true', 'filter={"a":[1]}', 'mode=3'),
    ).toEqual({ text: '12', count: 12, ratio: -1500, loud: true, filter: { a: [1] }, mode: 3 });
  });

  it('take the first type that matches', () => {
    expect(read('either=7')).toEqual({ either: 7 });
    expect(read('either=seven')).toEqual({ either: 'seven' });
    expect(read('maybe=null')).toEqual({ maybe: null });
  });

  it('build a list from repeated keys or from JSON', () => {
    expect(read('tags=a', 'tags=b')).toEqual({ tags: ['a', 'b'] });
    expect(read('sizes=1', 'sizes=2.5')).toEqual({ sizes: [1, 2.5] });
    expect(read('tags=["x","y"]')).toEqual({ tags: ['x', 'y'] });
  });

  it('take bare values for the keys that no word names, in the order of the schema', () => {
    expect(read('hi', '3', 'ratio=2', 'true')).toEqual({
      text: 'hi',
      count: 3,
      ratio: 2,
      loud: true,
    });
    expect(read('count=1', 'https://host/?a=b')).toEqual({ count: 1, text: 'https://host/?a=b' });
    expect(() => read('hi', 'many')).toThrow('count=many is invalid; count must be integer');
    expect(() => argumentsFromWords(['hi'], { properties: {} })).toThrow(
      'the tool has no argument for hi; write key=value, or use --args',
    );
  });

  it('name --args for a JSON object in place of the arguments', () => {
    expect(() => read('{"text":"a"}')).toThrow(`--args '{"text":"a"}'`);
    expect(argumentsFromWords(['{"a":1}'], { properties: { o: { type: 'object' } } })).toEqual({
      o: { a: 1 },
    });
  });

  it('are noted when the schema does not list them', () => {
    const properties = { a: {}, b: {} };
    expect(unlistedNotes({ a: 1, c: 3 }, { properties })).toEqual([
      'the tool does not list c, which is sent anyway; it lists a, b',
    ]);
    expect(unlistedNotes({ c: 3 }, { properties: {} })).toHaveLength(1);
    expect(unlistedNotes({ c: 3 }, { properties, additionalProperties: true })).toEqual([]);
    expect(unlistedNotes({ c: 3 }, { properties, patternProperties: {} })).toEqual([]);
    expect(unlistedNotes({ c: 3 }, { type: 'object' })).toEqual([]);
  });

  it('take a colon after a known key', () => {
    expect(read('count:12', 'text:a:b')).toEqual({ count: 12, text: 'a:b' });
  });

  it('keep everything after the first equals sign', () => {
    expect(read('text=a=b c')).toEqual({ text: 'a=b c' });
    expect(read('open=')).toEqual({ open: '' });
  });

  it.each([
    ['count=1.5', 'count=1.5 is invalid; count must be integer'],
    ['count=0123', 'count=0123 is invalid; count must be integer; write 123'],
    ['ratio=.50', 'ratio=.50 is invalid; ratio must be number; write 0.5'],
    ['sizes=1e', 'sizes=1e is invalid; sizes must be number'],
    ['count=0x10', 'count=0x10 is invalid; count must be integer'],
    ['loud=yes', 'loud=yes is invalid; loud must be boolean'],
    ['filter=3', 'filter=3 is invalid; filter must be object'],
    ['mode=warp', 'mode must be one of fast, slow, 3'],
    ['cuont=1', 'the tool has no argument cuont; did you mean count?'],
    ['__proto__=1', /^the tool has no argument __proto__; use text, count/],
    ['=1', '=1 is not a tool argument; write key=value, or use --args'],
  ])('reject %s and suggest a correction', (word, message) => {
    expect(() => read(word)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENTS',
        message: typeof message === 'string' ? message : expect.stringMatching(message),
      }),
    );
  });

  it('reject a key given twice', () => {
    expect(() => read('text=a', 'text=b')).toThrow('text was given twice');
  });

  it('name a missing argument', () => {
    expect(() => argumentsFromWords([], { ...schema, required: ['text'] })).toThrow(
      'text is missing; add text=…',
    );
  });

  it('pass through keys that the schema does not declare', () => {
    expect(argumentsFromWords(['any=1'], { type: 'object' })).toEqual({ any: '1' });
    expect(Object.keys(argumentsFromWords(['__proto__=1'], {}))).toEqual(['__proto__']);
  });

  it('are parsed from a single JSON object', () => {
    expect(argumentsFromJson('{"a": [1]}', '--args')).toEqual({ a: [1] });
    expect(() => argumentsFromJson('[1]', '--args')).toThrow('--args is not a JSON object');
    expect(() => argumentsFromJson('{', 'stdin')).toThrow('stdin is not JSON');
  });
});
