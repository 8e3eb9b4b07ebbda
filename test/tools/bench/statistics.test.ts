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

/** The verdict of a run in which nothing was missing. */
const judged = (target: Target, value: Spread, ratio: Spread | null, margin = 0) =>
  verdictOf(target, { value, ratio, rounds: value.count, margin });

describe('the median', () => {
  it('is the middle one, or between the two in the middle', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  it('is not moved by one outlier', () => {
    expect(median([1, 2, 3, 4, 9_000])).toBe(3);
  });

  it('has as many values below it as above', () => {
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

  it('leaves the values in their order', () => {
    const values = [3, 1, 2];
    median(values);
    expect(values).toEqual([3, 1, 2]);
  });
});

describe('a percentile', () => {
  it('lies between two values as far as the share says', () => {
    expect(percentile([0, 10], 0.25)).toBe(2.5);
    expect(percentile([1, 2, 3], 0)).toBe(1);
    expect(percentile([1, 2, 3], 1)).toBe(3);
  });
});

describe('a spread', () => {
  it('counts only what is there', () => {
    expect(spreadOf([null, 5, 1, null, 3])).toEqual({ median: 3, min: 1, max: 5, count: 3 });
  });

  it('is null without any value', () => {
    expect(spreadOf([null, null])).toBeNull();
    expect(spreadOf([])).toBeNull();
  });
});

describe('paired ratios', () => {
  it('compare within a round only, so that a slow round spoils nothing', () => {
    expect(pairedRatios([2, 200, 2], [1, 100, 1])).toEqual([2, 2, 2]);
  });

  it('leave out rounds in which one is missing or nothing can be divided', () => {
    expect(pairedRatios([1, null, 3, 4], [2, 2, null, 0])).toEqual([0.5]);
    expect(pairedRatios([1, 2], [1])).toEqual([1]);
  });
});

describe('the margin of a ratio', () => {
  it('is how far the middle half of equals strays from 1, up or down', () => {
    expect(marginOf([1, 1.1, 1.2])).toBeCloseTo(0.15, 10);
    expect(marginOf([0.8, 0.8, 0.8])).toBeCloseTo(0.25, 10);
    expect(marginOf([1, 1, 1])).toBe(0);
  });

  it('is not moved by one outlier among many', () => {
    expect(marginOf([1, 1, 1, 1, 1, 1, 1, 9])).toBe(0);
  });

  it('has no end when there are too few rounds to know', () => {
    expect(marginOf([1, 1])).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('a verdict', () => {
  it('is about the median of the ratio, with the bound itself allowed', () => {
    const target = { of: 'ratio', atMost: 1.1 } as const;
    expect(judged(target, spread(50), spread(1.1))).toBe('met');
    expect(judged(target, spread(50), spread(1.101))).toBe('missed');
  });

  it('holds a lower bound just so', () => {
    const target = { of: 'ratio', atLeast: 0.9 } as const;
    expect(judged(target, spread(50), spread(0.9))).toBe('met');
    expect(judged(target, spread(50), spread(0.89))).toBe('missed');
  });

  it('may leave the bound itself out', () => {
    const target = { of: 'value', below: 12 } as const;
    expect(judged(target, spread(11.9), null)).toBe('met');
    expect(judged(target, spread(12), null)).toBe('missed');
  });

  it('may be about the value instead, whatever the noise of the ratio', () => {
    const target = { of: 'value', atMost: 0 } as const;
    expect(judged(target, spread(0), null, 9)).toBe('met');
    expect(judged(target, spread(1), spread(0), 9)).toBe('missed');
  });

  it('is missed when a round or all of them have no value, however good the others were', () => {
    const target = { of: 'value', atMost: 101 } as const;
    expect(verdictOf(target, { value: spread(100), ratio: null, rounds: 3 })).toBe('missed');
    expect(verdictOf(target, { value: null, ratio: null, rounds: 3 })).toBe('missed');
  });

  it('is unknown when there is nothing to compare with', () => {
    expect(judged({ of: 'ratio', atMost: 1 }, spread(1), null)).toBe('unknown');
  });

  it.each([
    [{ of: 'ratio', atLeast: 0.9 }, 0.85, 0.18, 'unclear'],
    [{ of: 'ratio', atLeast: 0.9 }, 0.85, 0.02, 'missed'],
    [{ of: 'ratio', atMost: 1.1 }, 1.05, 0.1, 'unclear'],
    [{ of: 'ratio', atMost: 1.1 }, 1.05, 0.02, 'met'],
    [{ of: 'ratio', atMost: 1.1 }, 1.05, Number.POSITIVE_INFINITY, 'unclear'],
  ] as const)(
    'for %o, a ratio of %d and a margin of %d is %s',
    (target, ratio, margin, verdict) => {
      expect(judged(target, spread(50), spread(ratio), margin)).toBe(verdict);
    },
  );
});

describe('a target for every round', () => {
  it('is missed by the worst round, whatever the median says', () => {
    const seen = { median: 200, min: 100, max: 301, count: 3 };
    const target = { of: 'value', atMost: 300 } as const;
    expect(judged(target, seen, null)).toBe('met');
    expect(judged({ ...target, inEveryRound: true }, seen, null)).toBe('missed');
    expect(judged({ of: 'value', atLeast: 150, inEveryRound: true }, seen, null)).toBe('missed');
  });
});
