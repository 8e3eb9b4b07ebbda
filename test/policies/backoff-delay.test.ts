import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffDelay, chanceOf } from '../../src/policies/backoff-delay.ts';

const policy = { initialMs: 1_000, factor: 2, maxMs: 30_000, floorMs: 250 };
const almostOne = 1 - 2 ** -53;

const anyPolicy = fc.record({
  initialMs: fc.nat({ max: 100_000 }),
  factor: fc.oneof(fc.double({ min: 0, max: 10, noNaN: true }), fc.constantFrom(0, 1, 2, Infinity)),
  maxMs: fc.nat({ max: 1_000_000 }),
  floorMs: fc.nat({ max: 100_000 }),
});
const anyAttempt = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.constantFrom(0, -3, 1_025, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE, Infinity),
);
const anyChance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('a backoff delay', () => {
  it('grows up to the maximum', () => {
    const longest = [1, 2, 3, 5, 6, 60].map((attempt) => backoffDelay(policy, attempt, almostOne));
    expect(longest).toEqual([1_000, 2_000, 4_000, 16_000, 30_000, 30_000]);
  });

  it('is the floor when chance is lowest, whatever the attempt', () => {
    expect([1, 5, 1_000_000, Infinity].map((attempt) => backoffDelay(policy, attempt, 0))).toEqual([
      250, 250, 250, 250,
    ]);
  });

  it('is the floor when it has not grown past it', () => {
    expect(backoffDelay({ ...policy, initialMs: 0 }, Infinity, almostOne)).toBe(250);
  });

  it('keeps to the maximum when the floor is above it', () => {
    expect(backoffDelay({ ...policy, floorMs: 60_000 }, 1, almostOne)).toBe(30_000);
  });

  it('never passes what a timer can hold', () => {
    expect(backoffDelay({ ...policy, maxMs: Infinity }, Infinity, almostOne)).toBe(2 ** 31 - 1);
  });

  it('is never negative', () => {
    expect(backoffDelay({ ...policy, floorMs: -5 }, 1, 0)).toBe(0);
  });

  it('is whole milliseconds between floor and maximum', () => {
    fc.assert(
      fc.property(anyPolicy, anyAttempt, anyChance, (numbers, attempt, chance) => {
        const delayMs = backoffDelay(numbers, attempt, chance);
        expect(Number.isInteger(delayMs)).toBe(true);
        expect(delayMs).toBeLessThanOrEqual(numbers.maxMs);
        expect(delayMs).toBeGreaterThanOrEqual(Math.min(numbers.floorMs, numbers.maxMs));
      }),
    );
  });

  it('is the one that a list of all possible delays holds at that chance', () => {
    const small = fc.record({
      initialMs: fc.nat({ max: 50 }),
      factor: fc.integer({ min: 1, max: 3 }),
      maxMs: fc.nat({ max: 200 }),
      floorMs: fc.nat({ max: 100 }),
    });
    fc.assert(
      fc.property(small, fc.integer({ min: 1, max: 8 }), anyChance, (numbers, attempt, chance) => {
        let grown = numbers.initialMs;
        for (let growth = 1; growth < attempt; growth += 1) grown *= numbers.factor;
        const possible = [];
        for (let ms = 0; ms <= numbers.maxMs; ms += 1) {
          if (ms >= numbers.floorMs && ms <= grown) possible.push(ms);
        }
        if (possible.length === 0) possible.push(Math.min(numbers.floorMs, numbers.maxMs));
        const expected = possible[Math.floor(chance * possible.length)];
        expect(backoffDelay(numbers, attempt, chance)).toBe(expected);
      }),
    );
  });

  it('grows with chance and with the attempt', () => {
    const growing = anyPolicy.map((numbers) => ({
      ...numbers,
      factor: Math.max(1, numbers.factor),
    }));
    fc.assert(
      fc.property(growing, anyAttempt, anyChance, anyChance, (numbers, attempt, one, other) => {
        const [low, high] = one < other ? [one, other] : [other, one];
        const delayMs = backoffDelay(numbers, attempt, low);
        expect(backoffDelay(numbers, attempt, high)).toBeGreaterThanOrEqual(delayMs);
        expect(backoffDelay(numbers, attempt + 1, low)).toBeGreaterThanOrEqual(delayMs);
      }),
    );
  });
});

describe('seeded chance', () => {
  const anySeed = fc.integer();
  const draws = (seed: number, count: number) =>
    Array.from({ length: count }, (_, draw) => chanceOf(seed, draw));

  it('stays the same from release to release, so that old seeds still tell their story', () => {
    expect(draws(1, 3)).toMatchInlineSnapshot(`
      [
        0.014669631607830524,
        0.27418333129025996,
        0.8890836017671973,
      ]
    `);
  });

  it('lies in [0, 1) whatever the seed and the draw', () => {
    const anything = fc.oneof(fc.integer(), fc.double());
    fc.assert(
      fc.property(anything, anything, (seed, draw) => {
        const chance = chanceOf(seed, draw);
        expect(chance).toBeGreaterThanOrEqual(0);
        expect(chance).toBeLessThan(1);
        expect(chanceOf(seed, draw)).toBe(chance);
      }),
    );
  });

  // A fair thousand strays past 0.05 once in twenty million times, so the seed may be any.
  it('has its mean in the middle', () => {
    fc.assert(
      fc.property(anySeed, (seed) => {
        const sum = draws(seed, 1_000).reduce((total, chance) => total + chance, 0);
        expect(Math.abs(sum / 1_000 - 0.5)).toBeLessThan(0.05);
      }),
    );
  });

  it('falls into every tenth about equally often', () => {
    fc.assert(
      fc.property(anySeed, (seed) => {
        const tenths = Array.from({ length: 10 }, () => 0);
        for (const chance of draws(seed, 10_000)) {
          const tenth = Math.floor(chance * 10);
          tenths[tenth] = (tenths[tenth] ?? 0) + 1;
        }
        for (const count of tenths) expect(Math.abs(count - 1_000)).toBeLessThan(200);
      }),
      { numRuns: 20 },
    );
  });

  it('differs between two seeds at every draw', () => {
    fc.assert(
      fc.property(anySeed, anySeed, fc.nat(), (seed, other, draw) => {
        fc.pre(seed !== other);
        expect(chanceOf(seed, draw)).not.toBe(chanceOf(other, draw));
      }),
    );
  });

  it('is not the sequence of another seed some draws later', () => {
    fc.assert(
      fc.property(anySeed, anySeed, (seed, other) => {
        fc.pre(seed !== other);
        const theirs = new Set(draws(other, 200));
        const shared = draws(seed, 200).filter((chance) => theirs.has(chance));
        expect(shared.length).toBeLessThan(3);
      }),
    );
  });
});
