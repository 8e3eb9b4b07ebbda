import { describe, expect, it } from 'vitest';
import { needsControl, type Roles, type Row, rowsOf, tableOf } from '../../bench/report.ts';
import type { Values, Work } from '../../bench/work.ts';

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

  it('prints "never" for a contender without a value', () => {
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

  it('has no ratio and an unknown verdict without a baseline', () => {
    const [row] = rowsOf(work, [{ ours: { time: 1 } }], roles);
    expect(row?.verdict).toBe('unknown');
    expect(row?.cells[0]?.value).toBeNull();
  });
});

describe('the report of rounds that failed', () => {
  const measures = [
    { id: 'time', title: 'a walk', unit: 'ms', target: { of: 'value', atMost: 101 } },
  ] as const;
  const report = (ours: readonly Values[]) => {
    const failing = ours.map((values) => ({ hand: { time: 100 }, ours: values }));
    return rowsOf({ ...work, measures }, failing, roles);
  };
  const lastLine = (rows: readonly Row[]) => tableOf(rows, roles, {}).split('\n').at(-1);

  it('counts the rounds with a value and misses the target', () => {
    const rows = report([{}, {}, { time: 101 }]);
    expect(rows[0]?.verdict).toBe('missed');
    expect(lastLine(rows)).toContain(
      '101 (101-101) ms, 1 of 3 rounds  x 1.01 (1.01-1.01), 1 of 3 rounds',
    );
  });

  it('misses the target when all rounds failed', () => {
    const rows = report([{}, {}, {}]);
    expect(rows[0]?.verdict).toBe('missed');
    expect(lastLine(rows)).toMatch(/ failed +- +<= 101 ms +missed$/u);
  });

  it('misses the target without rounds', () => {
    expect(report([])[0]?.verdict).toBe('missed');
  });
});

describe('the noise of a row', () => {
  const controlled: Roles = { ...roles, control: 'hand again' };
  const report = (again: readonly number[], ours: number) =>
    rowsOf(
      work,
      again.map((time) => ({
        hand: { time: 100, back: 1 },
        ours: { time: ours, back: 1 },
        'hand again': { time, back: 1 },
      })),
      controlled,
    );

  it('is the ratio of the baseline to itself', () => {
    const lines = tableOf(report([100, 104, 108], 102), controlled, {}).split('\n');
    expect(lines[0]).toMatch(/ noise +target +verdict$/u);
    expect(lines[1]).toMatch(/ x 1\.04 \+-6 % +<= 1\.1x +met$/u);
    expect(lines[0]).not.toContain('again');
  });

  it('makes a verdict within the noise unclear', () => {
    expect(report([80, 85, 90], 115)[0]?.verdict).toBe('unclear');
    expect(report([80, 85, 90], 85)[0]?.verdict).toBe('met');
    expect(report([80, 85, 90], 150)[0]?.verdict).toBe('missed');
  });

  it('is unknown with two rounds', () => {
    const rows = report([100, 100], 100);
    expect(rows[0]?.verdict).toBe('unclear');
    expect(tableOf(rows, controlled, {})).toContain('x 1.00, too few rounds');
  });

  it('belongs only to rows with a ratio as target', () => {
    const [time, back] = report([100, 100, 100], 100);
    expect(time?.noise?.margin).toBe(0);
    expect(back?.noise).toBeUndefined();
    expect(needsControl(work)).toBe(true);
    expect(needsControl({ measures: work.measures.slice(1) })).toBe(false);
  });
});
