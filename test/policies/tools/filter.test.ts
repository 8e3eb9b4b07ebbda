import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { passesFilter } from '../../../src/policies/tools/filter.ts';

describe('a tool filter', () => {
  it('excludes a tool that is disabled by name, regardless of patterns', () => {
    const overrides = [
      { tool: 'query', enabled: false },
      { tool: 'read', enabled: true },
    ];
    expect(passesFilter({ include: ['*'], overrides }, 'query')).toBe(false);
    expect(passesFilter({ include: ['*'], overrides }, 'read')).toBe(true);
    expect(passesFilter({ include: [], overrides }, 'read')).toBe(false);
  });

  it('includes every tool without patterns', () => {
    expect(passesFilter({}, 'query')).toBe(true);
  });

  it('includes no tool when the include list is empty', () => {
    expect(passesFilter({ include: [] }, 'query')).toBe(false);
  });

  it('gives exclude precedence over include', () => {
    const filter = { include: ['*'], exclude: ['drop_*'] };
    expect(passesFilter(filter, 'drop_table')).toBe(false);
    expect(passesFilter(filter, 'query')).toBe(true);
  });

  it.each([
    ['query', 'query', true],
    ['query', 'Query', false],
    ['query', 'query2', false],
    ['', '', true],
    ['', 'a', false],
    ['*', '', true],
    ['a*', 'a', true],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['*b*', 'abc', true],
    ['*b*', 'ac', false],
    ['a*b*c', 'a-c-b-c', true],
    ['a*b*c', 'a-c', false],
    ['*ab*ab', 'ab', false],
    ['*ab*ba', 'aba', false],
    ['*b*a*', 'ab', false],
    ['**', 'anything', true],
    ['qu?ry', 'query', false],
    ['qu?ry', 'qu?ry', true],
    ['[a-z]*', 'query', false],
    ['((a+)+)+$', 'aaaa', false],
    ['((a+)+)+$', '((a+)+)+$', true],
  ])('with the pattern %j and the tool %j returns %j', (pattern, tool, shown) => {
    expect(passesFilter({ include: [pattern] }, tool)).toBe(shown);
  });

  it('is not slowed down by a hostile pattern', () => {
    expect(passesFilter({ include: ['a*'.repeat(5_000)] }, `${'a'.repeat(20_000)}b`)).toBe(true);
    expect(passesFilter({ include: [`${'a*'.repeat(5_000)}c`] }, 'a'.repeat(20_000))).toBe(false);
  });

  it('agrees with the recursive definition of matching', () => {
    const letters = fc.constantFrom('a', 'a', 'b', 'b', '*', '*', '.', '(');
    const patterns = fc.array(fc.string({ unit: letters, maxLength: 6 }), { maxLength: 3 });
    const tools = fc.string({ unit: letters, maxLength: 8 });
    fc.assert(
      fc.property(patterns, patterns, tools, (include, exclude, tool) => {
        const shown =
          include.some((p) => matches(p, tool)) && !exclude.some((p) => matches(p, tool));
        expect(passesFilter({ include, exclude }, tool)).toBe(shown);
      }),
      { numRuns: 2_000 },
    );
  });
});

/** The naive twin: exponential, and too short to be wrong. */
function matches(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern.startsWith('*')) {
    return matches(pattern.slice(1), text) || (text !== '' && matches(pattern, text.slice(1)));
  }
  return text[0] === pattern[0] && matches(pattern.slice(1), text.slice(1));
}
