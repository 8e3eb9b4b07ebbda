import { describe, expect, it } from 'vitest';

import { defaultPolicy } from '../../src/policies/default-policy.ts';

// The largest delay a timer takes; one more fires at once.
const longestTimerMs = 2 ** 31 - 1;

function numbersOf(value: object): number[] {
  return Object.values(value).flatMap((item: unknown) =>
    typeof item === 'number'
      ? [item]
      : typeof item === 'object' && item !== null
        ? numbersOf(item)
        : [],
  );
}

describe('default policy', () => {
  it('holds only positive whole numbers that a timer can take', () => {
    for (const number of numbersOf(defaultPolicy)) {
      expect(number).toBeGreaterThan(0);
      expect(number).toBeLessThanOrEqual(longestTimerMs);
      expect(Number.isInteger(number)).toBe(true);
    }
  });

  it('gives an orderly close more time than its own graces take', () => {
    const graces = defaultPolicy.stdinGraceMs + defaultPolicy.termGraceMs;
    expect(defaultPolicy.closeTimeoutMs).toBeGreaterThan(graces);
  });

  it('orders every backoff: floor, first, longest', () => {
    for (const backoff of [defaultPolicy.backoff, defaultPolicy.lostBackoff]) {
      expect(backoff.floorMs).toBeLessThanOrEqual(backoff.initialMs);
      expect(backoff.initialMs).toBeLessThanOrEqual(backoff.maxMs);
      expect(backoff.factor).toBeGreaterThan(1);
    }
  });

  it('tries a lost server more quietly than one in an outage', () => {
    expect(defaultPolicy.lostBackoff.floorMs).toBeGreaterThan(defaultPolicy.backoff.initialMs);
  });
});
