import { describe, expect, it } from 'vitest';
import { differences, type Seen } from '../../faults/expectation.ts';
import { closingLineOf, complaintsOf, tableOf } from '../../faults/report.ts';
import type { Row } from '../../faults/row.ts';
import { quickNames, rows } from '../../faults/rows.ts';
import { exitCodeOf, type Perform, runRows } from '../../faults/run-rows.ts';
import { chosenNames } from '../../lab/command-line.ts';

const row: Row = {
  inject: 's:hang-init',
  expect: { state: 'backingOff', code: 'TIMEOUT' },
  run: () => Promise.resolve({}),
};

/** Replaces the process of a row and judges as it does. */
const performing =
  (seen: Seen): Perform =>
  (_name, { expect: expected }) =>
    Promise.resolve({ seen, problems: differences(expected, seen), ms: 1_234 });

describe('runRows()', () => {
  it('passes a row that observes what it expects', async () => {
    const seen = { state: 'backingOff', code: 'TIMEOUT' };
    const results = await runRows({ F10: row }, 1, performing(seen));
    expect(results[0]).toMatchObject({ verdict: 'ok', remarks: [] });
    expect(exitCodeOf(results)).toBe(0);
  });

  it('fails and reports a row that observes anything else', async () => {
    const results = await runRows({ F10: row }, 1, performing({ state: 'ready', code: 'TIMEOUT' }));
    expect(results[0]).toMatchObject({
      verdict: 'not ok',
      remarks: ['state is "ready", not "backingOff"'],
    });
    expect(exitCodeOf(results)).toBe(1);
    expect(tableOf(results)).toContain('NOT OK');
    expect(complaintsOf(results)).toContain('state is "ready", not "backingOff"');
    expect(closingLineOf(results)).toBe('0 ok, 1 not ok');
  });

  it('reports a missing fact as a difference', () => {
    expect(differences({ code: 'TIMEOUT' }, {})).toEqual(['code is absent, not "TIMEOUT"']);
  });

  it('compares by equality, pattern, alternatives and bounds', () => {
    const expected = { a: 1, b: /x/u, c: ['p', 'q'], d: { atMost: 3 }, e: { atLeast: 3 } };
    expect(differences(expected, { a: 1, b: 'axe', c: 'q', d: 3, e: 3 })).toEqual([]);
    expect(differences(expected, { a: 2, b: 'a', c: 'r', d: 4, e: 2 })).toHaveLength(5);
    expect(differences(expected, { a: '1', b: 7, c: undefined, d: '3', e: '3' })).toHaveLength(5);
  });

  it('reports a row whose process fails and runs the others', async () => {
    const results = await runRows({ F10: row, F12: row }, 2, (name) =>
      name === 'F10'
        ? Promise.reject(new Error('the host ended with SIGABRT'))
        : Promise.resolve({ seen: {}, problems: [], ms: 1 }),
    );
    expect(results.map(({ name, verdict }) => [name, verdict])).toEqual([
      ['F10', 'not ok'],
      ['F12', 'ok'],
    ]);
    expect(exitCodeOf(results)).toBe(1);
  });

  it('runs a measuring row while no other row runs', async () => {
    let running = 0;
    const neighbours: number[] = [];
    const alone = { ...row, isAlone: true };
    await runRows({ F23: alone, F10: row, F12: row }, 3, async (_name, next) => {
      running += 1;
      if (next.isAlone === true) neighbours.push(running);
      await Promise.resolve();
      running -= 1;
      return { seen: {}, problems: [], ms: 1 };
    });
    expect(neighbours).toEqual([1]);
  });

  it('fails without any rows', () => {
    expect(exitCodeOf([])).toBe(1);
  });
});

describe('the quick fault run', () => {
  it('names only existing rows', () => {
    const chosen = chosenNames('--only', quickNames, Object.keys(rows));
    expect(chosen).toHaveLength(quickNames.length);
  });
});
