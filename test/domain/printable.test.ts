import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  printableLine,
  printableText,
  quotedWord,
  spelledOut,
  spelledOutWithin,
} from '../../src/domain/data/printable.ts';

const limit = 100;

describe('a long command shown for a decision', () => {
  it('shows how much of the middle is missing', () => {
    const text = `${'a'.repeat(90)}${'b'.repeat(1_100)}${'c'.repeat(10)}`;
    expect(spelledOutWithin(text, 100)).toBe(
      `${'a'.repeat(75)} […1,100 more characters…] ${'b'.repeat(15)}${'c'.repeat(10)}`,
    );
    expect(spelledOutWithin('a\u200b', 100)).toBe(String.raw`a\u{200b}`);
  });
});

describe('an escaped string', () => {
  it.each([
    ['rm   -rf', 'rm   -rf'],
    ['a\u200b\u202eb', String.raw`a\u{200b}\u{202e}b`],
    ['\u001b[31m', String.raw`\u{1b}[31m`],
    ['tag\u{e0041}', String.raw`tag\u{e0041}`],
    ['two\nlines\tand \ud800', String.raw`two\u{a}lines\u{9}and \u{d800}`],
    ['\u{1f600} é', '\u{1f600} é'],
    ['two\u00a0\u2003kinds of \u3000blank', String.raw`two\u{a0}\u{2003}kinds of \u{3000}blank`],
    [
      'filler\u3164, joiner\u034f, selector\ufe0f',
      String.raw`filler\u{3164}, joiner\u{34f}, selector\u{fe0f}`,
    ],
  ])('renders %j as %j', (text, expected) => {
    expect(spelledOut(text)).toBe(expected);
  });

  it('is never truncated', () => {
    expect(spelledOut('x'.repeat(100_000))).toHaveLength(100_000);
  });
});

describe('a quoted word', () => {
  it.each([
    ['--sql', '"--sql"'],
    ['two words', '"two words"'],
    ['say "no"', String.raw`"say \"no\""`],
    // Written out or escaped by us: the two look different.
    [String.raw`\u{200b}`, String.raw`"\\u{200b}"`],
    ['\u200b', String.raw`"\u{200b}"`],
  ])('renders %j as %s', (text, expected) => {
    expect(quotedWord(text)).toBe(expected);
  });
});

describe('printable text', () => {
  it.each([
    ['plain', 'plain'],
    ['\u001b[31mred\u001b[0m', 'red'],
    ['\u001b]0;title\u0007after', 'after'],
    ['\u001b]8;;http://evil\u001b\\link', 'link'],
    ['\u009b1mbold', 'bold'],
    ['\u001b7saved\u001b8', 'saved'],
    ['bell\u0007 null\u0000 del\u007f', 'bell null del'],
    ['abc\u202edcba', 'abcdcba'],
    ['zero\u200bwidth\ufeff', 'zerowidth'],
    ['tag\u{e0041}\u{e007f}', 'tag'],
    ['filler\u3164\u115f\uffa0 joiner\u034f\u17b4', 'filler joiner'],
    ['selected\ufe00\ufe01\ufe0d', 'selected'],
    ['picture\u2764\ufe0f sign\u2764\ufe0e', 'picture\u2764\ufe0f sign\u2764\ufe0e'],
    ['hidden\ufe0f\ufe0e\u200d\ufe0f\ufe0e', 'hidden\ufe0f'],
    ['lone \ud800 surrogate', 'lone  surrogate'],
    ['pair \u{1f600}', 'pair \u{1f600}'],
    ['two\r\nlines\rthree', 'two\nlines\nthree'],
    ['a\ttab', 'a\ttab'],
  ])('renders %j as %j', (text, expected) => {
    expect(printableText(text, limit)).toBe(expected);
  });

  it('is truncated with an ellipsis and never splits a surrogate pair', () => {
    expect(printableText('abcdef', 6)).toBe('abcdef');
    expect(printableText('abcdefg', 6)).toBe('abcde…');
    expect(printableText('abcd\u{1f600}fg', 6)).toBe('abcd…');
  });

  it('takes no longer for text beyond the cut', () => {
    expect(printableText('x'.repeat(1_000_000), 10)).toBe('xxxxxxxxx…');
  });

  it('contains no control characters and is unchanged by a second pass', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const clean = printableText(text, limit);
        // oxlint-disable-next-line no-control-regex
        expect(clean).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/u);
        expect(clean.length).toBeLessThanOrEqual(limit);
        expect(printableText(clean, limit)).toBe(clean);
      }),
    );
  });
});

describe('a printable line', () => {
  it('has no line breaks and only single spaces', () => {
    expect(printableLine('  one\n\n two\t\tthree ', limit)).toBe('one two three');
  });

  it('is truncated', () => {
    expect(printableLine('abcdefg', 6)).toBe('abcde…');
  });
});
