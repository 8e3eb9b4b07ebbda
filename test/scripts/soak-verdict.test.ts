import { describe, expect, it } from 'vitest';

import { growthOf, judge, type Sample, type Soaked } from '../../scripts/soak/verdict.ts';

const mebibyte = 1024 * 1024;
const everyMs = 15_000;
const count = 240;

function samplesOf(change: (index: number) => Partial<Sample> = () => ({})): readonly Sample[] {
  return Array.from({ length: count }, (_, index) => ({
    atMs: index * everyMs,
    heapBytes: 40 * mebibyte,
    fdCount: 100,
    childCount: 20,
    listenerCount: 7,
    ...change(index),
  }));
}

const calls = { sent: 10, ok: 6, answered: 1, unknown: 1, refused: 2, mixedUp: 0, odd: 0 };

const good: Soaked = {
  samples: samplesOf(),
  runMs: count * everyMs,
  calls,
  fdsBefore: 30,
  fdsAfter: 30,
  leftOver: 0,
  lame: [],
  stopMs: 200,
};

const brokenBy = (change: Partial<Soaked>): readonly string[] =>
  judge({ ...good, ...change }).flatMap(({ rule, isKept }) => (isKept ? [] : [rule]));

describe('the soak run verdict', () => {
  it.each<readonly [string, Partial<Soaked>, RegExp]>([
    [
      'a growing heap',
      { samples: samplesOf((index) => ({ heapBytes: (40 + index / 20) * mebibyte })) },
      /heap/u,
    ],
    [
      'unexplained descriptors',
      { samples: samplesOf((index) => ({ fdCount: 100 + Math.floor(index / 40) })) },
      /do not grow/u,
    ],
    [
      'an extra listener at the end',
      { samples: samplesOf((index) => ({ listenerCount: index < 140 ? 7 : 8 })) },
      /listeners/u,
    ],
    ['descriptors that remain open after the stop', { fdsAfter: 40 }, /closes all/u],
    ['a leftover process', { leftOver: 1 }, /left over/u],
    ['a call that never settles', { calls: { ...calls, sent: 11 } }, /settles/u],
    ["another call's result", { calls: { ...calls, mixedUp: 1 } }, /settles/u],
    ['an error without a code', { calls: { ...calls, ok: 5, odd: 1 } }, /settles/u],
    ['a healthy server that is not ready', { lame: ['local1'] }, /healthy/u],
    ['a slow stop', { stopMs: 6_000 }, /the stop takes/u],
  ])('rejects %s', (_what, change, rule) => {
    const broken = brokenBy(change);
    expect(broken).toHaveLength(1);
    expect(broken[0]).toMatch(rule);
  });

  it('accepts a steady run, more pipes for more children, a warm-up and short peaks', () => {
    const samples = samplesOf((index) => ({
      childCount: 20 + (index > 140 ? 3 : 0),
      fdCount: 100 + (index > 140 ? 9 : 0),
      heapBytes: mebibyte * (Math.min(40, 10 + index) + (index % 7 === 0 ? 20 : 0)),
    }));
    expect(brokenBy({})).toEqual([]);
    expect(brokenBy({ samples })).toEqual([]);
  });
});

describe('growthOf()', () => {
  it('compares the last third with the first', () => {
    expect(growthOf([1, 1, 1, 5, 5, 5, 3, 3, 3])).toBe(2);
  });
});
