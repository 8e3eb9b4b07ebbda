import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reachesLimit, recordInWindow } from '../../src/policies/window-limit.ts';

const fiveInAMinute = { limit: 5, windowMs: 60_000 };

describe('a window limit', () => {
  it('forgets a time exactly one window old', () => {
    expect(recordInWindow([0, 1], 60_000, fiveInAMinute)).toEqual([1, 60_000]);
  });

  it('keeps only the newest times, up to the limit', () => {
    expect(recordInWindow([1, 2, 3], 4, { limit: 2, windowMs: 100 })).toEqual([3, 4]);
  });

  it('keeps nothing with a limit of zero', () => {
    expect(recordInWindow([1], 2, { limit: 0, windowMs: 100 })).toEqual([]);
  });

  it('inserts a late time in order', () => {
    expect(recordInWindow([10, 30], 20, fiveInAMinute)).toEqual([10, 20, 30]);
  });

  it('trips exactly when the limit is reached', () => {
    expect(reachesLimit([1, 2, 3, 4], fiveInAMinute)).toBe(false);
    expect(reachesLimit([1, 2, 3, 4, 5], fiveInAMinute)).toBe(true);
  });

  it('stores nothing and never trips without a limit', () => {
    expect(recordInWindow([1, 2], 3, null)).toEqual([]);
    expect(reachesLimit([1, 2, 3], null)).toBe(false);
  });

  it('agrees with a complete record of all times', () => {
    const gaps = fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 60 });
    const limits = fc.record({
      limit: fc.integer({ min: 1, max: 6 }),
      windowMs: fc.integer({ min: 1, max: 100 }),
    });
    fc.assert(
      fc.property(gaps, limits, (gapsMs, limit) => {
        const everything: number[] = [];
        let kept: readonly number[] = [];
        let now = 0;
        for (const gapMs of gapsMs) {
          now += gapMs;
          everything.push(now);
          kept = recordInWindow(kept, now, limit);
          const inWindow = everything.filter((time) => time > now - limit.windowMs).length;
          expect(reachesLimit(kept, limit)).toBe(inWindow >= limit.limit);
          expect(kept.length).toBeLessThanOrEqual(limit.limit);
        }
      }),
    );
  });
});
