import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolResult } from '../../../src/domain/tool.ts';
import { binaryOf, bytesOf, extensionOf, isBase64 } from '../../../src/policies/results/binary.ts';
import { cutTexts, excessOf, loginChallenge } from '../../../src/policies/results/content.ts';

const text = (value: unknown) => ({ type: 'text', text: value });
const resource = (inner: unknown) => ({ type: 'resource', resource: inner });

describe("a result's size", () => {
  const wide = { maxLength: 1_000, maxDepth: 256 };
  // Names and commas count a little.
  const sizeOf = (result: ToolResult) => {
    let maxLength = 0;
    while (excessOf(result, { ...wide, maxLength }) !== undefined) maxLength += 1;
    return maxLength;
  };

  it('includes all its text, data and names', () => {
    const empty = sizeOf({ content: [] });
    expect(sizeOf({ content: [text('')] })).toBe(empty + 'typetexttext'.length + 1);
    expect(sizeOf({ content: [text('12345')] })).toBe(sizeOf({ content: [text('')] }) + 5);
    expect(sizeOf({ content: [], structuredContent: { a: [1, 2, null] } })).toBe(
      empty + 'structuredContenta'.length + 3,
    );
  });

  it('exceeds the limit with one character too many', () => {
    const result = { content: [text('x'.repeat(100))] };
    const maxLength = sizeOf(result);
    expect(excessOf(result, { ...wide, maxLength })).toBeUndefined();
    expect(excessOf(result, { ...wide, maxLength: maxLength - 1 })).toBe('length');
  });

  it('exceeds the maximum depth with one level too many', () => {
    const result = { content: [], structuredContent: { a: { b: [{}] } } };
    expect(excessOf(result, { ...wide, maxDepth: 5 })).toBeUndefined();
    expect(excessOf(result, { ...wide, maxDepth: 4 })).toBe('depth');
  });

  it('is measured at any depth', () => {
    let inner: unknown = {};
    for (let depth = 0; depth < 100_000; depth += 1) inner = [inner];
    const result = { content: [], structuredContent: { inner } };
    expect(excessOf(result, wide)).toBe('depth');
    expect(excessOf(result, { maxLength: 10, maxDepth: 256 })).toBe('length');
  });
});

describe('a truncated result', () => {
  const cut = (content: ToolResult['content'], maxLength: number) =>
    cutTexts({ content, isError: false }, maxLength);

  it('is unchanged when it fits', () => {
    expect(cut([text('abc'), text('de')], 5)).toBeUndefined();
    expect(cut([{ type: 'image', data: 'x'.repeat(100) }], 0)).toBeUndefined();
    expect(cut([text(5), resource(null), resource('x'), resource({ text: 5 })], 0)).toBeUndefined();
  });

  it('replaces the excess with a note', () => {
    const image = { type: 'image', data: 'AAAA' };
    const link = { type: 'resource_link', uri: 'a:b', name: 'b' };
    const made = cut([image, text('abc'), text('def'), link, text('ghi')], 5);
    expect(made?.withNote('[cut]')).toEqual({
      content: [image, text('abc'), text('de'), text('[cut]'), link],
      isError: false,
    });
    expect(made).toMatchObject({ whole: 'abc\ndef\nghi', shownLength: 5 });
  });

  it('keeps the other fields of a block and a resource', () => {
    const made = cut([{ ...text('abc'), annotations: { a: 1 } }], 2);
    expect(made?.withNote('[cut]').content[0]).toEqual({ ...text('ab'), annotations: { a: 1 } });
    const other = cut([resource({ uri: 'a:b', text: 'abc' })], 2);
    expect(other?.withNote('[cut]').content[0]).toEqual(resource({ uri: 'a:b', text: 'ab' }));
  });

  it('keeps only the note when nothing fits', () => {
    expect(cut([text('abc'), text('d')], 3)?.withNote('[cut]').content).toEqual([
      text('abc'),
      text('[cut]'),
    ]);
    expect(cut([text('abc')], 0)?.withNote('[cut]').content).toEqual([text('[cut]')]);
  });

  it('does not end within a surrogate pair', () => {
    expect(cut([text('ab😀')], 3)).toMatchObject({ shownLength: 2 });
    expect(cut([text('ab😀c')], 4)).toMatchObject({ shownLength: 4 });
  });

  it('keeps the beginning of the combined text within the limit', () => {
    const texts = fc.array(fc.string({ unit: 'binary', maxLength: 8 }), { maxLength: 5 });
    fc.assert(
      fc.property(texts, fc.nat(20), (all, maxLength) => {
        const made = cut(all.map(text), maxLength);
        const whole = all.join('');
        if (made === undefined) {
          expect(whole.length).toBeLessThanOrEqual(maxLength);
          return;
        }
        const shown = made.withNote('').content.map((block) => String(block['text']));
        expect(whole.startsWith(shown.join(''))).toBe(true);
        expect(shown.join('')).toHaveLength(made.shownLength);
        expect(made.shownLength).toBeLessThanOrEqual(maxLength);
        expect(made.shownLength).toBeGreaterThanOrEqual(Math.min(maxLength, whole.length) - 1);
      }),
    );
  });
});

describe('binary data', () => {
  it.each([
    [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }, 'image image/png AAAA'],
    [{ type: 'audio', data: 'AAAA' }, 'audio  AAAA'],
    [resource({ uri: 'a:b', blob: 'AAAA', mimeType: 5 }), 'blob  AAAA'],
    [resource({ uri: 'a:b', text: 'a' }), undefined],
    [resource(null), undefined],
    [resource('a'), undefined],
    [{ type: 'image', data: 5 }, undefined],
    [text('a'), undefined],
    [{ type: 'resource_link', uri: 'a:b' }, undefined],
  ])('is extracted from %j: %s', (block, expected) => {
    const found = binaryOf(block);
    expect(found && `${found.kind} ${found.mimeType} ${found.data}`).toBe(expected);
  });

  it.each([
    ['', false],
    ['AAAA', true],
    ['AAA=', true],
    ['AA==', true],
    ['A===', false],
    ['AAA', false],
    ['AA-_', false],
    ['AA A', false],
    ['=AAA', false],
  ])('%j is base64: %s', (data, expected) => {
    expect(isBase64(data)).toBe(expected);
  });

  it('has the size of the decoded Base64', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), (bytes) => {
        const data = Buffer.from(bytes).toString('base64');
        expect(isBase64(data)).toBe(true);
        expect(bytesOf(data)).toBe(bytes.length);
      }),
    );
  });

  it.each([
    ['image/png', 'png'],
    ['IMAGE/JPEG ; q=1', 'jpg'],
    ['text/html', 'bin'],
    ['image/svg+xml', 'bin'],
    ['application/x-sh', 'bin'],
    ['image/../../../etc/passwd', 'bin'],
    ['__proto__', 'bin'],
    ['', 'bin'],
  ])('of type %j gets the extension %s', (mimeType, expected) => {
    expect(extensionOf(mimeType)).toBe(expected);
  });
});

describe('a login challenge in a result', () => {
  const key = 'mcp/www_authenticate';
  it.each([
    [{ isError: true, _meta: { [key]: 'Bearer' } }, 'Bearer'],
    [{ isError: true, _meta: { [key]: ['', 'Bearer a="b"', 'DPoP'] } }, 'Bearer a="b", DPoP'],
    [{ isError: true, _meta: { [key]: [] } }, undefined],
    [{ isError: true, _meta: { [key]: ' ' } }, undefined],
    [{ isError: true, _meta: { [key]: { a: 1 } } }, undefined],
    [{ isError: true, _meta: { other: 'Bearer' } }, undefined],
    [{ isError: true, _meta: null }, undefined],
    [{ isError: true, _meta: 'Bearer' }, undefined],
    [{ isError: true }, undefined],
    // An answer is an answer, whatever it carries.
    [{ isError: false, _meta: { [key]: 'Bearer' } }, undefined],
    [{ _meta: { [key]: 'Bearer' } }, undefined],
  ])('is found in %j: %s', (rest, expected) => {
    expect(loginChallenge({ content: [], ...rest } as ToolResult)).toBe(expected);
  });
});
