import { describe, expect, it } from 'vitest';
import type { Sample } from '../../scripts/soak/sample.ts';
import {
  type CallCounts,
  floorsOf,
  growthOf,
  judge,
  type Soaked,
  trendOf,
  warmed,
} from '../../scripts/soak/verdict.ts';

const mebibyte = 1024 * 1024;
const everyMs = 3_000;

function samplesOf(change: (index: number) => Partial<Sample> = () => ({})): readonly Sample[] {
  return Array.from({ length: 1_200 }, (_, index) => ({
    atMs: index * everyMs,
    heapBytes: 40 * mebibyte,
    rssBytes: 150 * mebibyte,
    fdCount: 100,
    childCount: 20,
    handleCount: 140,
    listenerCount: 7,
    delayP99Ms: 20,
    ...change(index),
  }));
}

const calls: CallCounts = {
  sent: 10,
  ok: 6,
  answered: 1,
  unknown: 1,
  refused: 2,
  mixedUp: 0,
  odd: 0,
};

const good: Soaked = {
  samples: samplesOf(),
  calls,
  fdsBefore: 30,
  fdsAfter: 30,
  leftOver: 0,
  lame: [],
  stopMs: 200,
};

const brokenBy = (change: Partial<Soaked>): readonly string[] =>
  judge({ ...good, ...change }).flatMap(({ rule, isKept }) => (isKept ? [] : [rule]));

describe('the verdict of a soak', () => {
  it('is good when nothing grows and nothing is left', () => {
    expect(brokenBy({})).toEqual([]);
  });

  it.each<readonly [string, Partial<Soaked>, RegExp]>([
    [
      'a heap that surely grows by two megabytes an hour',
      {
        samples: samplesOf((index) => ({
          heapBytes: 40 * mebibyte + (index / 1_200) * 2 * mebibyte,
        })),
      },
      /heap/u,
    ],
    [
      'descriptors that no child explains',
      { samples: samplesOf((index) => ({ fdCount: 100 + Math.floor(index / 200) })) },
      /stay flat/u,
    ],
    [
      'a listener more at the end',
      { samples: samplesOf((index) => ({ listenerCount: index < 700 ? 7 : 8 })) },
      /listeners/u,
    ],
    ['descriptors kept after the stop', { fdsAfter: 40 }, /given back/u],
    ['a process left over', { leftOver: 1 }, /left over/u],
    ['a call that never settled', { calls: { ...calls, sent: 11 } }, /settled/u],
    ['an answer to another call', { calls: { ...calls, mixedUp: 1 } }, /settled/u],
    ['an error without a code', { calls: { ...calls, ok: 5, odd: 1 } }, /settled/u],
    ['a healthy server that is not ready', { lame: ['local1'] }, /healthy/u],
    ['a slow stop', { stopMs: 6_000 }, /the stop takes/u],
  ])('is broken by %s', (_what, change, rule) => {
    const broken = brokenBy(change);
    expect(broken).toHaveLength(1);
    expect(broken[0]).toMatch(rule);
  });

  it('lets more children have more pipes', () => {
    const samples = samplesOf((index) => ({
      childCount: 20 + (index > 700 ? 3 : 0),
      fdCount: 100 + (index > 700 ? 9 : 0),
    }));
    expect(brokenBy({ samples })).toEqual([]);
  });

  it('does not mind what grows during the warm-up, nor what floods hold for a moment', () => {
    const samples = samplesOf((index) => ({
      heapBytes: mebibyte * (Math.min(40, 10 + index) + (index % 7 === 0 ? 20 : 0)),
    }));
    expect(brokenBy({ samples })).toEqual([]);
  });
});

describe('the numbers of a soak', () => {
  it('find the slope of a line, and no error in it', () => {
    const { perHour, errorPerHour } = trendOf([
      [0, 1],
      [3_600_000, 3],
      [7_200_000, 5],
    ]);
    expect(perHour).toBeCloseTo(2);
    expect(errorPerHour).toBeCloseTo(0);
  });

  it('know nothing of a slope from two values', () => {
    expect(trendOf([[0, 1]]).errorPerHour).toBe(Infinity);
  });

  it('take the least of each whole group', () => {
    const points = [4, 3, 5, 9, 8, 7, 1].map((value, index) => [index, value] as const);
    expect(floorsOf(points, 3)).toEqual([
      [1, 3],
      [5, 7],
    ]);
  });

  it('compare the last third with the first', () => {
    expect(growthOf([1, 1, 1, 5, 5, 5, 3, 3, 3])).toBe(2);
  });

  it('leave out a quarter as the warm-up, between a minute and a half and ten minutes', () => {
    expect(warmed(samplesOf().slice(0, 401)).at(0)?.atMs).toBe(300_000);
    expect(warmed(samplesOf().slice(0, 101)).at(0)?.atMs).toBe(90_000);
    expect(warmed(samplesOf()).at(0)?.atMs).toBe(600_000);
  });

  it('do not pretend to know the slope of a short run', () => {
    const [heap] = judge({ ...good, samples: samplesOf().slice(0, 30) });
    expect(heap?.isKept).toBe(true);
    expect(heap?.seen).toContain('too short');
  });
});
