import { describe, expect, it } from 'vitest';

import { control } from '../../bench/contenders.ts';
import { needsControl, rowsOf, tableOf } from '../../bench/report.ts';
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
  { client: { time: 10, back: null }, troupe: { time: 10.5, back: 3 }, [control]: { time: 10 } },
  { client: { time: 100, back: null }, troupe: { time: 105, back: 5 }, [control]: { time: 104 } },
  { client: { time: 100, back: null }, troupe: { time: 105, back: 4 }, [control]: { time: 108 } },
];

describe('the benchmark report', () => {
  it('prints ratios computed within each round, the noise, and "never" for a missing feature', () => {
    expect(tableOf(rowsOf(work, rounds)).split('\n')).toEqual([
      'work          client 2.4         mcp-troupe           ratio               noise         target   verdict',
      'a walk        100 (10.0-100) ms  105 (10.5-105) ms    x 1.05 (1.05-1.05)  x 1.04 +-6 %  <= 1.1x  unclear',
      'the way back  never              4.00 (3.00-5.00) ms  -',
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
    const failing = ours.map((values) => ({ client: { time: 100 }, troupe: values }));
    const rows = rowsOf({ ...work, measures }, failing);
    expect(rows[0]?.verdict).toBe('missed');
    expect(tableOf(rows)).toContain(text);
  });
});
