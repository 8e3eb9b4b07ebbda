import { describe, expect, it } from 'vitest';

import type { Sample } from '../../scripts/soak/sample.ts';
import { growthOf, trendOf } from '../../scripts/soak/trend.ts';
import { type CallCounts, judge, type Soaked, warmUpMsOf } from '../../scripts/soak/verdict.ts';
import { chanceOf } from '../../src/policies/chance.ts';

const mebibyte = 1024 * 1024;
const everyMs = 15_000;
const count = 240;
const hourMs = 3_600_000;

function samplesOf(change: (index: number) => Partial<Sample> = () => ({})): readonly Sample[] {
  return Array.from({ length: count }, (_, index) => ({
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
  runMs: count * everyMs,
  calls,
  fdsBefore: 30,
  fdsAfter: 30,
  leftOver: 0,
  lame: [],
  stopMs: 200,
};

const brokenBy = (change: Partial<Soaked>): readonly string[] =>
  judge({ ...good, ...change }).flatMap(({ rule, verdict }) => (verdict === 'kept' ? [] : [rule]));

describe('the verdict of a soak', () => {
  it('is good without growth and left-overs', () => {
    expect(brokenBy({})).toEqual([]);
  });

  it.each<readonly [string, Partial<Soaked>, RegExp]>([
    [
      'a heap that surely grows by two megabytes an hour',
      {
        samples: samplesOf((index) => ({
          heapBytes: 40 * mebibyte + (index / count) * 2 * mebibyte,
        })),
      },
      /heap/u,
    ],
    [
      'descriptors that no child explains',
      { samples: samplesOf((index) => ({ fdCount: 100 + Math.floor(index / 40) })) },
      /do not grow/u,
    ],
    [
      'a listener more at the end',
      { samples: samplesOf((index) => ({ listenerCount: index < 140 ? 7 : 8 })) },
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

  it('allows more pipes for more children', () => {
    const samples = samplesOf((index) => ({
      childCount: 20 + (index > 140 ? 3 : 0),
      fdCount: 100 + (index > 140 ? 9 : 0),
    }));
    expect(brokenBy({ samples })).toEqual([]);
  });

  it('ignores growth during the warm-up and short peaks', () => {
    const samples = samplesOf((index) => ({
      heapBytes: mebibyte * (Math.min(40, 10 + index) + (index % 7 === 0 ? 20 : 0)),
    }));
    expect(brokenBy({ samples })).toEqual([]);
  });

  it.each<readonly [string, number, Soaked['samples'], string]>([
    ['a flat heap is shown in an hour', hourMs, samplesOf(), 'kept'],
    [
      'a leak is shown in an hour',
      hourMs,
      samplesOf((index) => ({ heapBytes: mebibyte * (40 + index / 40 + noise(index)) })),
      'broken',
    ],
    [
      'noise in ten minutes shows nothing',
      hourMs / 6,
      samplesOf((index) => ({ heapBytes: mebibyte * (40 + noise(index)) })).slice(0, 40),
      'not shown',
    ],
    [
      'a leak that noise may be shows nothing',
      hourMs / 6,
      samplesOf((index) => ({ heapBytes: mebibyte * (40 + index / 120 + noise(index)) })).slice(
        0,
        40,
      ),
      'not shown',
    ],
    ['a run of a few samples shows nothing', hourMs / 60, samplesOf().slice(0, 4), 'not shown'],
  ])('judges the heap: %s', (_what, runMs, samples, verdict) => {
    const [heap] = judge({ ...good, runMs, samples });
    expect(heap?.rule).toContain('heap');
    expect(heap?.verdict).toBe(verdict);
  });
});

/** Scatter of a quarter of a unit to either side, the same in every run. */
function noise(index: number): number {
  return chanceOf(1, index) / 2 - 0.25;
}

describe('the numbers of a soak', () => {
  const line = Array.from({ length: 12 }, (_, index) => [index * hourMs, 1 + 2 * index] as const);

  it('find the slope of a line without error', () => {
    const { perHour, errorPerHour } = trendOf(line);
    expect(perHour).toBeCloseTo(2);
    expect(errorPerHour).toBeCloseTo(0);
  });

  it('ignore a few outliers', () => {
    const { perHour } = trendOf([...line, [0.5 * hourMs, 500], [11.5 * hourMs, -300]]);
    expect(perHour).toBeGreaterThan(1.5);
    expect(perHour).toBeLessThan(2.5);
  });

  it('have an unlimited error with few values', () => {
    expect(trendOf(line.slice(0, 7)).errorPerHour).toBe(Infinity);
  });

  it('widen the error of correlated samples', () => {
    const loose = Array.from({ length: 60 }, (_, index) => [index, noise(index)] as const);
    const sticky = loose.map(([at], index) => [at, noise(Math.floor(index / 6))] as const);
    expect(trendOf(sticky).errorPerHour).toBeGreaterThan(2 * trendOf(loose).errorPerHour);
  });

  it('contain the true slope within the error in nine of ten runs', () => {
    const runs = Array.from({ length: 100 }, (_, run) =>
      trendOf(
        Array.from({ length: 40 }, (_value, index) => [
          index * hourMs,
          index + 8 * noise(1 + run * 40 + index),
        ]),
      ),
    );
    const hits = runs.filter(({ perHour, errorPerHour }) => Math.abs(perHour - 1) <= errorPerHour);
    expect(hits.length).toBeGreaterThanOrEqual(90);
  });

  it('compare the last third with the first', () => {
    expect(growthOf([1, 1, 1, 5, 5, 5, 3, 3, 3])).toBe(2);
  });

  it('leave out ten minutes as the warm-up, or half of a short run', () => {
    expect(warmUpMsOf(20 * 60_000)).toBe(600_000);
    expect(warmUpMsOf(6 * 60_000)).toBe(180_000);
    expect(warmUpMsOf(hourMs)).toBe(600_000);
  });
});
