import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  marginOf,
  median,
  pairedRatios,
  percentile,
  type Spread,
  spreadOf,
  type Target,
  verdictOf,
} from '../../bench/statistics.ts';

const spread = (value: number) => ({ median: value, min: value, max: value, count: 1 });

const judged = (target: Target, value: Spread, ratio: Spread | null, margin = 0) =>
  verdictOf(target, { value, ratio, rounds: value.count, margin });

describe('median() and percentile()', () => {
  it('split the values evenly', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 1 }), (values) => {
        const middle = median(values);
        const below = values.filter((value) => value < middle).length;
        const above = values.filter((value) => value > middle).length;
        expect(below).toBeLessThanOrEqual(values.length / 2);
        expect(above).toBeLessThanOrEqual(values.length / 2);
      }),
    );
  });

  it('interpolate between two values', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(percentile([0, 10], 0.25)).toBe(2.5);
    expect(percentile([1, 2, 3], 1)).toBe(3);
  });
});

describe('spreadOf()', () => {
  it('ignores missing values', () => {
    expect(spreadOf([null, 5, 1, null, 3])).toEqual({ median: 3, min: 1, max: 5, count: 3 });
    expect(spreadOf([null, null])).toBeNull();
  });
});

describe('pairedRatios()', () => {
  it('compares within each round and omits incomplete rounds', () => {
    expect(pairedRatios([2, 200, 2], [1, 100, 1])).toEqual([2, 2, 2]);
    expect(pairedRatios([1, null, 3, 4], [2, 2, null, 0])).toEqual([0.5]);
  });
});

describe('marginOf()', () => {
  it('measures how far the middle half of the ratios deviates from 1', () => {
    expect(marginOf([1, 1.1, 1.2])).toBeCloseTo(0.15, 10);
    expect(marginOf([0.8, 0.8, 0.8])).toBeCloseTo(0.25, 10);
    expect(marginOf([1, 1, 1, 1, 1, 1, 1, 9])).toBe(0);
  });

  it('is infinite with too few rounds', () => {
    expect(marginOf([1, 1])).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('verdictOf()', () => {
  it.each([
    [{ of: 'ratio', atMost: 1.1 }, 1.1, 0, 'met'],
    [{ of: 'ratio', atMost: 1.1 }, 1.101, 0, 'missed'],
    [{ of: 'ratio', atLeast: 0.9 }, 0.9, 0, 'met'],
    [{ of: 'ratio', atLeast: 0.9 }, 0.85, 0.02, 'missed'],
    [{ of: 'ratio', atLeast: 0.9 }, 0.85, 0.18, 'unclear'],
    [{ of: 'ratio', atMost: 1.1 }, 1.05, 0.1, 'unclear'],
    [{ of: 'ratio', atMost: 1.1 }, 1.05, Number.POSITIVE_INFINITY, 'unclear'],
  ] as const)(
    'for %o, a ratio of %d and a margin of %d is %s',
    (target, ratio, margin, verdict) => {
      expect(judged(target, spread(50), spread(ratio), margin)).toBe(verdict);
    },
  );

  it("judges a value regardless of the ratio's noise", () => {
    expect(judged({ of: 'value', below: 12 }, spread(11.9), null, 9)).toBe('met');
    expect(judged({ of: 'value', below: 12 }, spread(12), spread(0), 9)).toBe('missed');
  });

  it('returns `missed` when a round has no value, and `unknown` without a ratio', () => {
    const target = { of: 'value', atMost: 101 } as const;
    expect(verdictOf(target, { value: spread(100), ratio: null, rounds: 3 })).toBe('missed');
    expect(verdictOf(target, { value: null, ratio: null, rounds: 3 })).toBe('missed');
    expect(judged({ of: 'ratio', atMost: 1 }, spread(1), null)).toBe('unknown');
  });

  it('judges the worst round when every round must meet the target', () => {
    const seen = { median: 200, min: 100, max: 301, count: 3 };
    const target = { of: 'value', atMost: 300 } as const;
    expect(judged(target, seen, null)).toBe('met');
    expect(judged({ ...target, inEveryRound: true }, seen, null)).toBe('missed');
    expect(judged({ of: 'value', atLeast: 150, inEveryRound: true }, seen, null)).toBe('missed');
  });
});
