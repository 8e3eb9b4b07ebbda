import { describe, expect, it } from 'vitest';

import { control } from '../../bench/contenders.ts';
import { needsControl, peerTableOf, rowsOf, tableOf } from '../../bench/report.ts';
import type { Values, Work } from '../../bench/work.ts';

const work: Work = {
  name: 'walk',
  measures: [
    { id: 'time', title: 'a walk', unit: 'ms', target: { of: 'ratio', atMost: 1.1 } },
    { id: 'back', title: 'the way back', unit: 'ms', absent: 'never' },
  ],
  rounds: { full: 2, quick: 1 },
  run: () => Promise.resolve([]),
};

const rounds = [
  { sdk1: { time: 10, back: null }, troupe: { time: 10.5, back: 3 }, [control]: { time: 10 } },
  { sdk1: { time: 100, back: null }, troupe: { time: 105, back: 5 }, [control]: { time: 104 } },
  { sdk1: { time: 100, back: null }, troupe: { time: 105, back: 4 }, [control]: { time: 108 } },
];

describe('the benchmark report', () => {
  it('prints ratios computed within each round, the noise, and "never" for a missing feature', () => {
    expect(tableOf(rowsOf(work, rounds)).split('\n')).toEqual([
      'work          SDK 1.x            mcp-troupe           ratio               noise         required  verdict',
      'a walk        100 (10.0-100) ms  105 (10.5-105) ms    x 1.05 (1.05-1.05)  x 1.04 +-6 %  <= 1.1x   unclear',
      'the way back  never              4.00 (3.00-5.00) ms  -',
    ]);
  });

  it('shows what an earlier run found: its ratio where there is one, else its value', () => {
    const before = rowsOf(work, [
      { sdk1: { time: 10, back: null }, troupe: { time: 12, back: 3 } },
    ]);
    const [, walk, back] = tableOf(rowsOf(work, rounds), before).split('\n');
    expect(walk).toMatch(/x 1\.05 \(1\.05-1\.05\) +x 1\.20 /u);
    expect(back).toMatch(/- +3\.00 ms$/u);
  });

  it('shows the peers that were measured in a table of their own', () => {
    expect(peerTableOf(rowsOf(work, rounds))).toBe('');
    const beside = rounds.map((round) => ({ ...round, client: { time: 20, back: null } }));
    expect(peerTableOf(rowsOf(work, beside)).split('\n')).toEqual([
      'work    client 2.4           ratio',
      'a walk  20.0 (20.0-20.0) ms  x 0.20 (0.20-2.00)',
    ]);
  });

  it.each([
    [{ of: 'ratio', atMost: 1.1 }, '<= 1.1x'],
    [{ of: 'ratio', atLeast: 0.9 }, '>= 0.9x'],
    [{ of: 'value', below: 12 }, '< 12 ms'],
    [{ of: 'value', atMost: 300, inEveryRound: true }, '<= 300 ms, always'],
  ] as const)('prints the target %o', (target, text) => {
    const measures = [{ id: 'time', title: 'a walk', unit: 'ms', target }] as const;
    expect(rowsOf({ ...work, measures }, rounds)[0]?.target).toBe(text);
  });

  it('shows no ratio and the verdict "unknown" without a baseline', () => {
    const [row] = rowsOf(work, [{ troupe: { time: 1 } }]);
    expect(row?.verdict).toBe('unknown');
    expect(row?.cells[0]?.value).toBeNull();
  });

  it('requires noise only for ratio targets', () => {
    expect(needsControl(work)).toBe(true);
    expect(needsControl({ measures: work.measures.slice(1) })).toBe(false);
    expect(rowsOf(work, rounds)[1]?.noise).toBeUndefined();
    expect(tableOf(rowsOf(work, rounds.slice(1)))).toContain('x 1.06, too few rounds');
  });

  it.each<readonly [string, readonly Values[], string]>([
    ['some', [{}, {}, { time: 101 }], '101 (101-101) ms, 1 of 3 rounds'],
    ['all', [{}, {}, {}], ' failed '],
    ['no', [], ' - '],
  ])('misses the target when %s rounds yield values', (_what, ours, text) => {
    const target = { of: 'value', atMost: 101 } as const;
    const measures = [{ id: 'time', title: 'a walk', unit: 'ms', target }] as const;
    const failing = ours.map((values) => ({ sdk1: { time: 100 }, troupe: values }));
    const rows = rowsOf({ ...work, measures }, failing);
    expect(rows[0]?.verdict).toBe('missed');
    expect(tableOf(rows)).toContain(text);
  });
});
