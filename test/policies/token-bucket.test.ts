import { describe, expect, it } from 'vitest';

import { TokenBucket } from '../../src/policies/token-bucket.ts';

describe('a token bucket', () => {
  it('starts full at any time', () => {
    for (const now of [-5_000, 0, 1e9]) {
      const bucket = new TokenBucket(10, 20);
      expect(bucket.take(20, now)).toBe(true);
      expect(bucket.waitMs(now)).toBe(0);
      expect(bucket.tryTake(now)).toBe(false);
    }
  });

  it('refills at its rate up to the burst size', () => {
    const bucket = new TokenBucket(10, 20);
    bucket.take(20, 0);
    expect(bucket.tryTake(99)).toBe(false);
    expect(bucket.tryTake(100)).toBe(true);
    expect(bucket.take(20, 60_000)).toBe(true);
    expect(bucket.take(1, 60_000)).toBe(false);
  });

  it('reports how long a debt takes to clear', () => {
    const bucket = new TokenBucket(10, 20);
    expect(bucket.take(25, 0)).toBe(false);
    expect(bucket.waitMs(0)).toBe(500);
    expect(bucket.waitMs(499)).toBe(1);
    expect(bucket.waitMs(500)).toBe(0);
  });
});
