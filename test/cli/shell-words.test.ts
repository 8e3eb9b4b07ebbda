import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shellWords } from '../../src/cli/shell-words.ts';

describe('a command line', () => {
  it.each([
    ['npx -y server', ['npx', '-y', 'server']],
    ['  a\t b\n', ['a', 'b']],
    ['', []],
    ["a 'b c' d", ['a', 'b c', 'd']],
    ['a "b c" d', ['a', 'b c', 'd']],
    [`--x='a b'c"d e"`, ['--x=a bcd e']],
    [`'' ""`, ['', '']],
    [String.raw`a\ b \'c\" d\\`, ['a b', `'c"`, String.raw`d\ `.trim()]],
    [String.raw`"a\"b\\c\n\$d"`, [String.raw`a"b\c\n$d`]],
    [String.raw`'a\b' '"'`, [String.raw`a\b`, '"']],
    ['a|b; c > d && $(e) *.f $G', ['a|b;', 'c', '>', 'd', '&&', '$(e)', '*.f', '$G']],
  ])('is split as a shell splits it: %s', (text, words) => {
    expect(shellWords(text)).toEqual(words);
  });

  it.each([
    [`a 'b c`, /ends within an open '; close it/],
    ['a "b\\" c', /ends within an open "; close it/],
    ['a b\\', /ends within a backslash/],
  ])('with an open quote is rejected: %s', (text, message) => {
    expect(() => shellWords(text)).toThrow(message);
  });

  it('agrees with a real shell about quotes and backslashes', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', ' ', "'", '"', '\\', '-'),
      maxLength: 12,
    });
    const lines = fc.sample(text, { numRuns: 400, seed: 1 }).filter((line) => {
      try {
        shellWords(line);
        return true;
      } catch {
        return false;
      }
    });
    // One shell for all: each line prints its words, and a mark at its end.
    const script = lines
      .map((line) => `set -- ${line}\nfor w in "$@"; do printf '<%s>' "$w"; done; echo`)
      .join('\n');
    const said = execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' });
    expect(said.split('\n').slice(0, -1)).toEqual(
      lines.map((line) =>
        shellWords(line)
          .map((word) => `<${word}>`)
          .join(''),
      ),
    );
  });
});
