import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Jitter } from '../../src/domain/policy.ts';
import { busyDelay, quietDelay, reopenDelay, restartDelay } from '../../src/policies/backoff.ts';

const numbers = { initialMs: 1_000, factor: 2, maxMs: 30_000, floorMs: 250 };
const almostOne = 1 - 2 ** -53;
const growing = (jitter: Jitter) => ({ first: 'delayed', delays: numbers, jitter }) as const;
const waits = [1, 2, 3, 5, 6, 60];

const anyNumbers = fc.record({
  initialMs: fc.nat({ max: 100_000 }),
  factor: fc.oneof(fc.double({ min: 0, max: 10, noNaN: true }), fc.constantFrom(0, 1, 2, Infinity)),
  maxMs: fc.nat({ max: 1_000_000 }),
  floorMs: fc.nat({ max: 100_000 }),
});
const anyWait = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.constantFrom(0, -3, 1_025, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE, Infinity),
);
const anyChance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const full = (delays: typeof numbers, wait: number, chance: number): number =>
  restartDelay({ first: 'delayed', delays, jitter: 'full' }, wait, chance);

describe('the restart delay', () => {
  it('grows up to the maximum', () => {
    expect(waits.map((wait) => restartDelay(growing('none'), wait, 0.5))).toEqual([
      1_000, 2_000, 4_000, 16_000, 30_000, 30_000,
    ]);
  });

  it('follows a list of delays and repeats the last one', () => {
    const ladder = { first: 'delayed', delays: [500, 1_000, 2_000], jitter: 'none' } as const;
    expect([1, 2, 3, 4, Infinity].map((wait) => restartDelay(ladder, wait, 0.5))).toEqual([
      500, 1_000, 2_000, 2_000, 2_000,
    ]);
    expect(restartDelay({ ...ladder, delays: [] }, 1, 0.5)).toBe(0);
  });

  it('is zero before an immediate first attempt and starts with the second', () => {
    const immediate = { ...growing(0.2), first: 'immediate' } as const;
    expect(restartDelay(immediate, 1, almostOne)).toBe(0);
    expect(restartDelay({ ...immediate, jitter: 'none' }, 2, 0.5)).toBe(1_000);
    const ladder = { first: 'immediate', delays: [500, 1_000], jitter: 'none' } as const;
    expect([1, 2, 3, 4].map((wait) => restartDelay(ladder, wait, 0.5))).toEqual([
      0, 500, 1_000, 1_000,
    ]);
  });

  it('skips only the first wait after a session that served long enough', () => {
    const sustained = { ...growing('none'), first: { sustainedMs: 10_000 } } as const;
    expect([1, 2, 3].map((wait) => restartDelay(sustained, wait, 0.5, 10_000))).toEqual([
      0, 2_000, 4_000,
    ]);
    expect(restartDelay(sustained, 1, 0.5, 9_999)).toBe(1_000);
    expect(restartDelay(sustained, 1, 0.5)).toBe(1_000);
  });

  it('varies evenly in both directions with a jitter fraction, even above the maximum but not below the floor', () => {
    const around = growing(0.2);
    expect([0, 0.5, almostOne].map((chance) => restartDelay(around, 1, chance))).toEqual([
      800, 1_000, 1_200,
    ]);
    expect(restartDelay(around, 60, almostOne)).toBe(36_000);
    expect(restartDelay(growing(1), 1, 0)).toBe(250);
  });

  it('equals the floor at the lowest full-jitter draw', () => {
    expect(waits.map((wait) => restartDelay(growing('full'), wait, 0))).toEqual(
      waits.map(() => 250),
    );
  });

  it('equals the maximum when the floor exceeds it', () => {
    expect(full({ ...numbers, floorMs: 60_000 }, 1, almostOne)).toBe(30_000);
  });

  it("never exceeds a timer's range", () => {
    expect(full({ ...numbers, maxMs: Infinity }, Infinity, almostOne)).toBe(2 ** 31 - 1);
  });

  it('is never negative', () => {
    expect(full({ ...numbers, floorMs: -5 }, 1, 0)).toBe(0);
  });

  it('has no floor unless one is given', () => {
    const delays = { initialMs: 1_000, factor: 2, maxMs: 30_000 };
    expect(restartDelay({ first: 'delayed', delays, jitter: 'full' }, 1, 0)).toBe(0);
  });

  it('is a whole number of milliseconds between floor and maximum with full jitter', () => {
    fc.assert(
      fc.property(anyNumbers, anyWait, anyChance, (delays, wait, chance) => {
        const delayMs = full(delays, wait, chance);
        expect(Number.isInteger(delayMs)).toBe(true);
        expect(delayMs).toBeLessThanOrEqual(delays.maxMs);
        expect(delayMs).toBeGreaterThanOrEqual(Math.min(delays.floorMs, delays.maxMs));
      }),
    );
  });

  it('agrees with a list of all possible delays with full jitter', () => {
    const small = fc.record({
      initialMs: fc.nat({ max: 50 }),
      factor: fc.integer({ min: 1, max: 3 }),
      maxMs: fc.nat({ max: 200 }),
      floorMs: fc.nat({ max: 100 }),
    });
    fc.assert(
      fc.property(small, fc.integer({ min: 1, max: 8 }), anyChance, (delays, wait, chance) => {
        let grown = delays.initialMs;
        for (let growth = 1; growth < wait; growth += 1) grown *= delays.factor;
        const possible = [];
        for (let ms = 0; ms <= delays.maxMs; ms += 1) {
          if (ms >= delays.floorMs && ms <= grown) possible.push(ms);
        }
        if (possible.length === 0) possible.push(Math.min(delays.floorMs, delays.maxMs));
        const expected = possible[Math.floor(chance * possible.length)];
        expect(full(delays, wait, chance)).toBe(expected);
      }),
    );
  });

  it('grows with the random draw and with the base delay for any jitter', () => {
    const anyJitter = fc.constantFrom<Jitter>('none', 'full', 0.2, 1);
    fc.assert(
      fc.property(
        anyNumbers,
        anyJitter,
        anyWait,
        fc.tuple(anyChance, anyChance),
        (delays, jitter, wait, [one, other]) => {
          const rule = {
            first: 'delayed',
            delays: { ...delays, factor: Math.max(1, delays.factor) },
            jitter,
          } as const;
          const delayMs = restartDelay(rule, wait, Math.min(one, other));
          expect(restartDelay(rule, wait, Math.max(one, other))).toBeGreaterThanOrEqual(delayMs);
          expect(restartDelay(rule, wait + 1, Math.min(one, other))).toBeGreaterThanOrEqual(
            delayMs,
          );
        },
      ),
    );
  });
});

describe('the delay before a quiet attempt', () => {
  const rule = { retryFromMs: 15_000, toMs: 300_000 };

  it('doubles from the first delay to the maximum', () => {
    expect([1, 2, 5, 6, 60].map((wait) => quietDelay(rule, 'none', wait, 0.5))).toEqual([
      15_000, 30_000, 240_000, 300_000, 300_000,
    ]);
  });

  it('keeps its floor with full jitter', () => {
    expect(quietDelay({ ...rule, floorMs: 5_000 }, 'full', 3, 0)).toBe(5_000);
  });
});

describe('the delay before retrying a busy server', () => {
  const rule = { initialMs: 15_000, factor: 2, maxMs: 300_000, addedJitter: 0.2 };

  it('doubles each time and is only lengthened by jitter', () => {
    expect([1, 2, 60].map((wait) => busyDelay(rule, wait, 0))).toEqual([15_000, 30_000, 300_000]);
    expect([1, 60].map((wait) => busyDelay(rule, wait, almostOne))).toEqual([18_000, 360_000]);
  });
});

describe('the wait before a stream is reopened', () => {
  it.each([
    // losses before, how long it was open, the requested wait, and the chance
    [0, Number.POSITIVE_INFINITY, 0, 0, { waitMs: 1_000, losses: 1 }],
    [1, 0, 0, 0, { waitMs: 2_000, losses: 2 }],
    [4, 60_000, 0, 0, { waitMs: 16_000, losses: 5 }],
    [4, 60_001, 0, 0, { waitMs: 1_000, losses: 1 }],
    [4, undefined, 5_000, 0, { waitMs: 5_000, losses: 0 }],
    [1, 0, 7_000, 0, { waitMs: 7_000, losses: 2 }],
    [1, 0, 0, 1, { waitMs: 2_500, losses: 2 }],
    [60, 0, 0, 1, { waitMs: 300_000, losses: 61 }],
  ])('after %i losses and %s ms, %i ms requested, with chance %i', (...row) => {
    const [losses, heldMs, askedMs, chance, expected] = row;
    expect(reopenDelay(losses, heldMs, askedMs, chance)).toEqual(expected);
  });
});
