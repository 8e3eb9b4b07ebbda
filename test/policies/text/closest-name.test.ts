import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closestName, namesMeant } from '../../../src/policies/text/closest-name.ts';

describe('the names that a word means', () => {
  const names = ['claude-code', 'claude-desktop', 'cursor'];

  it.each([
    ['Claude', ['claude-code', 'claude-desktop']],
    ['cursr', ['cursor']],
    ['emacs', []],
  ])('are, for %s, %j', (word, meant) => {
    expect(namesMeant(word, names)).toEqual(meant);
  });
});

describe('the closest name', () => {
  it.each([
    ['postgrse', ['postgres', 'redis'], 'postgres'],
    ['postgre', ['postgres', 'redis'], 'postgres'],
    ['--alow', ['--allow', '--args'], '--allow'],
    ['mcpservers', ['mcp', 'mcpServers'], 'mcpServers'],
    ['bd', ['db', 'api'], 'db'],
    ['DB', ['api', 'db'], 'db'],
    ['quary', ['query', 'quarry'], 'quarry'],
    ['kitten', ['sitting'], undefined],
    ['mcp__m__nope', ['mcp__m__die', 'mcp__m__echo'], undefined],
    ['mcp__m__ecoh', ['mcp__m__die', 'mcp__m__echo'], 'mcp__m__echo'],
    ['mcp__db__qurey', ['mcp__db__query'], 'mcp__db__query'],
    ['mcp__bd__query', ['mcp__db__query'], 'mcp__db__query'],
    ['mcp__m__', ['mcp__m__a'], 'mcp__m__a'],
    ['completely', ['different'], undefined],
    ['a', ['b'], undefined],
    ['', ['b'], undefined],
    ['', [''], undefined],
    ['db', [], undefined],
  ])('to %j among %j is %j', (word, names, closest) => {
    expect(closestName(word, names)).toBe(closest);
  });

  it('allows one typo per three letters and three in total', () => {
    expect(closestName('abcdef', ['abcdXY'])).toBe('abcdXY');
    expect(closestName('abcdef', ['abcXYZ'])).toBeUndefined();
    expect(closestName('abcdefghijklmnop', ['abcdefghijklmXYZ'])).toBe('abcdefghijklmXYZ');
    expect(closestName('abcdefghijklmnop', ['abcdefghijklWXYZ'])).toBeUndefined();
  });

  it('ignores names of more than 128 letters', () => {
    const [long, longer] = ['a'.repeat(128), 'a'.repeat(1_000_000)];
    expect(closestName(long, [`b${long.slice(1)}`])).toBe(`b${long.slice(1)}`);
    expect(closestName(`${long}a`, [long])).toBeUndefined();
    expect(closestName(longer, ['a', `b${longer.slice(1)}`])).toBeUndefined();
  });

  it('does not depend on name order', () => {
    const names = fc.uniqueArray(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 }));
    const shuffled = names.chain((all) =>
      fc.shuffledSubarray(all, { minLength: all.length }).map((other) => [all, other] as const),
    );
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'b', 'c') }),
        shuffled,
        (word, [one, two]) => {
          expect(closestName(word, one)).toBe(closestName(word, two));
        },
      ),
    );
  });

  it("agrees with the distance's recursive definition", () => {
    const words = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'A'), maxLength: 7 });
    fc.assert(
      fc.property(words, fc.array(words, { maxLength: 5 }), (word, names) => {
        expect(closestName(word, names)).toBe(naiveClosest(word, names));
      }),
      { numRuns: 1_000 },
    );
  });
});

function naiveClosest(word: string, names: readonly string[]): string | undefined {
  return names
    .map((name) => ({ name, edits: distance(word.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, edits }) => {
      const longer = Math.max(word.length, name.length);
      return edits < longer && edits <= 3 && (edits <= 1 || edits * 3 <= longer);
    })
    .sort((a, b) => a.edits - b.edits || (a.name < b.name ? -1 : 1))[0]?.name;
}

/** The naive twin: the recursive definition of optimal string alignment. */
function distance(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length;
  if (a[0] === b[0]) return distance(a.slice(1), b.slice(1));
  const swapped = a[0] === b[1] && a[1] === b[0];
  return (
    1 +
    Math.min(
      distance(a.slice(1), b),
      distance(a, b.slice(1)),
      distance(a.slice(1), b.slice(1)),
      swapped ? distance(a.slice(2), b.slice(2)) : Infinity,
    )
  );
}
