import { describe, expect, it } from 'vitest';
import { type Roles, rowsOf, tableOf } from '../../bench/report.ts';
import type { Work } from '../../bench/work.ts';

const roles: Roles = { contenders: ['hand', 'ours'], baseline: 'hand', subject: 'ours' };

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
  { hand: { time: 10, back: null }, ours: { time: 10.5, back: 3 } },
  { hand: { time: 100, back: null }, ours: { time: 105, back: 5 } },
];

describe('the report', () => {
  it('judges the subject by ratios made within each round', () => {
    const [row] = rowsOf(work, rounds, roles);
    expect(row?.verdict).toBe('met');
    expect(row?.cells[1]?.ratio).toEqual({ median: 1.05, min: 1.05, max: 1.05, count: 2 });
  });

  it('says never where a contender did not get there', () => {
    const table = tableOf(rowsOf(work, rounds, roles), roles, { hand: 'by hand', ours: 'Ours' });
    expect(table.split('\n')).toEqual([
      'work          by hand             Ours                 ratio               target   verdict',
      'a walk        55.0 (10.0-100) ms  57.8 (10.5-105) ms   x 1.05 (1.05-1.05)  <= 1.1x  met',
      'the way back  never               4.00 (3.00-5.00) ms  -',
    ]);
  });

  it.each([
    [{ of: 'ratio', atMost: 1.1 }, '<= 1.1x'],
    [{ of: 'ratio', atLeast: 0.9 }, '>= 0.9x'],
    [{ of: 'value', below: 12 }, '< 12 ms'],
    [{ of: 'value', atMost: 300, inEveryRound: true }, '<= 300 ms, always'],
  ] as const)('writes the target %o as it is judged', (target, text) => {
    const measures = [{ id: 'time', title: 'a walk', unit: 'ms', target }] as const;
    expect(rowsOf({ ...work, measures }, rounds, roles)[0]?.target).toBe(text);
  });

  it('has no ratio and no verdict without a baseline', () => {
    const [row] = rowsOf(work, [{ ours: { time: 1 } }], roles);
    expect(row?.verdict).toBe('unknown');
    expect(row?.cells[0]?.value).toBeNull();
  });
});
