import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  graftNumbers,
  holdsInexact,
  keepNumbers,
  numberTextAt,
  parseJson,
  setNumberText,
  unwritablePart,
  writeJson,
} from '../../src/domain/data/exact-json.ts';
import type { ToolResult } from '../../src/domain/tool.ts';
import { cutTexts } from '../../src/policies/results/content.ts';
import { redactData } from '../../src/policies/text/redact-words.ts';
import { announcedAs, madeFrom } from '../../src/policies/tools/announced.ts';
import { printableSchema } from '../../src/policies/tools/schema-words.ts';
import { forwardedMeta } from '../../src/protocol/meta.ts';
import { jsonText, numberText } from '../support/json-texts.ts';

describe('JSON that keeps its numbers', () => {
  it('writes every text as it was read', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(writeJson(parseJson(`[${text}]`))).toBe(`[${text}]`);
      }),
      { numRuns: 2_000 },
    );
  });

  it('reads the same values as JSON.parse', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it.each(['[-0,0]', '[[-0,1],1.10,[-0.0,0]]', '{"a":{"0":-0,"1":1.10},"b":[-0,1e400]}'])(
    'writes %s, which could be mistaken for what stands for a number, as it was read',
    (text) => {
      expect(writeJson(parseJson(text))).toBe(text);
    },
  );

  it.each(['{1.10:2}', '[1.]', '[1.10 2]', '[1.10e]', '{"a":-}', '1.10"a"'])(
    'refuses %s like JSON.parse',
    (text) => {
      expect(() => parseJson(text)).toThrow(messageOf(() => JSON.parse(text)));
    },
  );

  it('finds every number that JavaScript writes differently', () => {
    fc.assert(
      fc.property(numberText, (text) => {
        expect(holdsInexact(text)).toBe(String(Number(text)) !== text);
      }),
      { numRuns: 5_000 },
    );
  });

  it('keeps the spelling of numbers in copies, except for changed numbers', () => {
    const from = parseJson('{"a":1.10,"b":{"c":[12e3,-0.0]},"d":1e400}') as Record<string, unknown>;
    const shallow = keepNumbers({ ...from, e: 1 }, from);
    expect(writeJson(shallow)).toBe('{"a":1.10,"b":{"c":[12e3,-0.0]},"d":1e400,"e":1}');
    const deep = structuredClone(from);
    graftNumbers(deep, from);
    expect(writeJson(deep)).toBe('{"a":1.10,"b":{"c":[12e3,-0.0]},"d":1e400}');
    deep['a'] = 2;
    expect(writeJson(deep, 1)).toContain('"a": 2,');
    expect(numberTextAt(from, 'a')).toBe('1.10');
  });

  it.each<[string, (value: Record<string, unknown>) => unknown, string, string]>([
    ['metadata', forwardedMeta, '{"tenant":1.10,"progressToken":1.0}', '{"tenant":1.10}'],
    ['redacted data', redactData, '{"a":1.10,"b":[2.0,"x"]}', '{"a":1.10,"b":[2.0,"x"]}'],
    [
      'printable schemas',
      (schema) => printableSchema(schema, { description: 0, title: 9 }),
      '{"default":1.10,"description":"x","enumNames":[1.0,"a\\u200b"]}',
      '{"default":1.10,"enumNames":[1.0,"a"]}',
    ],
    [
      'announced items',
      (item) => announcedAs(madeFrom({ ...item }, item)),
      '{"size":1.0,"extra":{"a":1.10},"arguments":[{"name":"a","extra":{"b":2.0}}]}',
      '{"a":1.10,"size":1.0,"arguments":[{"b":2.0,"name":"a"}]}',
    ],
    [
      'cut texts',
      (result) => cutTexts(result as unknown as ToolResult, 1)?.withNote('cut'),
      '{"content":[{"type":"text","text":"abc","v":1.0}],"total":1.10}',
      '{"content":[{"type":"text","text":"a","v":1.0},{"type":"text","text":"cut"}],"total":1.10}',
    ],
    [
      'cut resources',
      (result) => cutTexts(result as unknown as ToolResult, 1)?.withNote('cut'),
      '{"content":[{"type":"resource","v":2.0,"resource":{"text":"abc","v":3.0}}]}',
      '{"content":[{"type":"resource","v":2.0,"resource":{"text":"a","v":3.0}},{"type":"text","text":"cut"}]}',
    ],
  ])('keeps the numbers of %s', (_what, copy, text, kept) => {
    expect(writeJson(copy(parseJson(text) as Record<string, unknown>))).toBe(kept);
  });

  it.each([2, '', '  ', '12', '-1.0e', 'longer than ten'])('indents by %j', (indent) => {
    const exact = parseJson('{"a":"1\\t","b":[1.0,{"c":1.50}]}');
    const texts = { a: '1\t', b: ['<1.0>', { c: '<1.50>' }] };
    const expected = JSON.stringify(texts, null, indent).replaceAll(/"<|>"/gu, '');
    expect(writeJson(exact, indent)).toBe(expected);
  });

  it('keeps the order of JSON.stringify for number-like keys, and skips what it skips', () => {
    const value = parseJson('{"b":1.0,"2":2.0,"1":3.0}') as Record<string, unknown>;
    const mixed = { undefined: undefined, boxed: new Number(1.5), infinite: Infinity, value };
    expect(writeJson(mixed)).toBe(
      '{"boxed":1.5,"infinite":null,"value":{"1":3.0,"2":2.0,"b":1.0}}',
    );
  });

  it.each([
    [{ a: Number.NaN }, 'a is NaN'],
    [{ a: [1, -Infinity] }, 'a.1 is -Infinity'],
    [{ a: [undefined] }, 'a.0 is undefined'],
    [{ a: 1n }, 'a is a bigint; pass its digits as text, or parse them with parseJson'],
    [{ a: { b: () => 1 } }, 'a.b is a function'],
    [{ a: Symbol('x') }, 'a is a symbol'],
    [{ a: new Map([[1, 2]]) }, 'a is a Map'],
    [
      { a: undefined, b: new Date(0), c: [null, 'x', true, 1.5], d: Infinity - Infinity },
      'd is NaN',
    ],
    [{ a: undefined, b: new Date(0), c: [null, 'x', true, 1.5] }, undefined],
    [parseJson('{"a":1e400,"b":[-1e400,1.10]}'), undefined],
  ])('names what JSON cannot hold: %#', (value, why) => {
    expect(unwritablePart(value)).toBe(why);
  });

  it('skips long strings, whatever they escape, and stops where one does not end', () => {
    const long = 'x'.repeat(40);
    const text = JSON.stringify({ a: `${long}"${long}\\`, b: `${long}\\"1.10` });
    expect(holdsInexact(text)).toBe(false);
    const after = `${text.slice(0, -1)},"c":1.10}`;
    expect(writeJson(parseJson(after))).toBe(after);
    expect(holdsInexact(`"${long}1.10`)).toBe(false);
    expect(holdsInexact('"1.10')).toBe(false);
  });

  it('keeps the numbers that a copy has of its own, and skips what it lacks', () => {
    const from = parseJson('{"a":1.10,"b":{"c":2.0}}') as Record<string, unknown>;
    const copy = parseJson('{"a":1.1,"d":3.0}') as Record<string, unknown>;
    graftNumbers(copy, from);
    expect(writeJson(copy)).toBe('{"a":1.10,"d":3.0}');
    expect(keepNumbers(from, from)).toBe(from);
    graftNumbers(from, from);
    expect(writeJson(from)).toBe('{"a":1.10,"b":{"c":2.0}}');
  });

  it('keeps no text that JSON cannot hold', () => {
    const value = { a: 31, b: 1.1, c: 1000, d: 12_000 };
    for (const [key, text] of Object.entries({ a: '0x1F', b: '1.10', c: '1_000', d: '12e3' }))
      setNumberText(value, key, text);
    expect(writeJson(value)).toBe('{"a":31,"b":1.10,"c":1000,"d":12e3}');
  });

  it('looks for no texts before a number has one', async () => {
    vi.resetModules();
    const fresh = await import('../../src/domain/data/exact-json.ts');
    const value = { a: 1.5 };
    expect(fresh.numberTextAt(value, 'a')).toBe(undefined);
    expect(fresh.keepNumbers({ ...value }, value)).toEqual(value);
    const copy = { ...value };
    fresh.graftNumbers(copy, value);
    expect(fresh.writeJson(copy)).toBe('{"a":1.5}');
  });

  it('leaves a number made by JSON.rawJSON to JSON', () => {
    const { stringify } = JSON;
    const raw = { rawJSON: '7' };
    vi.stubGlobal('JSON', {
      parse: JSON.parse,
      isRawJSON: (value: unknown) => value === raw,
      stringify: (value: object, replace: ((key: string, part: unknown) => unknown) | null) =>
        stringify(value, function (this: object, key, part: unknown) {
          const written = replace === null ? part : replace.call(this, key, part);
          return written === raw ? 7 : written;
        }),
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    expect(writeJson([raw, parseJson('[1.10]')])).toBe('[7,[1.10]]');
  });

  it('names a value that holds itself, and one that is nothing by itself', () => {
    const loop: Record<string, unknown> = {};
    loop['a'] = loop;
    expect(unwritablePart(loop)).toBe('a is a part of itself');
    expect(unwritablePart(undefined)).toBe('undefined');
    for (const plain of ['x', null]) expect(unwritablePart(plain)).toBe(undefined);
    expect(writeJson(parseJson('1.10'))).toBe('1.1');
    expect(unwritablePart(Object.assign(new Map(), { toJSON: () => [] }))).toBe(undefined);
  });
});

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing was thrown';
}
