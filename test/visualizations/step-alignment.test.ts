import { describe, expect, it } from 'vitest';
import { alignedSteps, markedWords } from '../../visualizations/page/model/divergence.ts';

const steps = (...texts: readonly string[]) => texts.map((text, n) => ({ n, t: n, text }));

describe('the steps of two journals', () => {
  it('differ only where one did something else', () => {
    const rows = alignedSteps(steps('a', 'b one', 'c', 'd'), steps('a', 'b two', 'x', 'c', 'd'));
    expect(rows.map(({ a, b, isSame }) => [a?.text, b?.text, isSame])).toEqual([
      ['a', 'a', true],
      ['b one', 'b two', false],
      [undefined, 'x', false],
      ['c', 'c', true],
      ['d', 'd', true],
    ]);
  });

  it('mark the word that differs', () => {
    const marked = markedWords('enters catalog.none, ready', 'enters catalog.live, ready');
    expect(marked.filter((each) => each.isDifferent).map(({ text }) => text)).toEqual([
      'catalog.none,',
    ]);
    expect(markedWords('all', undefined)).toEqual([{ text: 'all', isDifferent: false }]);
  });
});
