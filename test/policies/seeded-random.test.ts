import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chanceOf } from '../../src/policies/seeded-random.ts';

describe('seeded randomness', () => {
  const anySeed = fc.integer();
  const draws = (seed: number, count: number) =>
    Array.from({ length: count }, (_, draw) => chanceOf(seed, draw));

  it('is stable across releases, so old seeds still reproduce', () => {
    expect(draws(1, 3)).toMatchInlineSnapshot(`
      [
        0.014669631607830524,
        0.27418333129025996,
        0.8890836017671973,
      ]
    `);
  });

  it('is in [0, 1) for any seed and draw', () => {
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
  it('has a mean of one half', () => {
    fc.assert(
      fc.property(anySeed, (seed) => {
        const sum = draws(seed, 1_000).reduce((total, chance) => total + chance, 0);
        expect(Math.abs(sum / 1_000 - 0.5)).toBeLessThan(0.05);
      }),
    );
  });

  it('is evenly distributed over ten intervals', () => {
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

  it("is never another seed's sequence with an offset", () => {
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
