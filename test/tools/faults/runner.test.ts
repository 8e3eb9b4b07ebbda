import { describe, expect, it } from 'vitest';
import type { Seen } from '../../faults/expectation.ts';
import { differences } from '../../faults/judge.ts';
import { closingLineOf, complaintsOf, tableOf } from '../../faults/report.ts';
import type { AnyRow, Row } from '../../faults/row.ts';
import { choose, exitCodeOf, type Perform, runRows } from '../../faults/run-rows.ts';

const row = (id: string, more: Partial<Row> = {}): Row => ({
  id,
  inject: 's:hang-init',
  expect: { state: 'backingOff', code: 'TIMEOUT' },
  run: () => Promise.resolve({}),
  ...more,
});

/** Stands in for the process of a row, and judges as it does. */
const performing =
  (seen: Seen): Perform =>
  ({ expect: expected }) =>
    Promise.resolve({ seen, problems: differences(expected, seen), ms: 1_234 });

describe('the runner of faults', () => {
  it('passes a row that saw what it expects', async () => {
    const results = await runRows(
      [row('F10')],
      1,
      performing({ state: 'backingOff', code: 'TIMEOUT' }),
    );
    expect(results[0]).toMatchObject({ verdict: 'ok', remarks: [] });
    expect(exitCodeOf(results)).toBe(0);
  });

  it('reports a row that saw anything else, and fails', async () => {
    const results = await runRows([row('F10')], 1, performing({ state: 'ready', code: 'TIMEOUT' }));
    expect(results[0]).toMatchObject({
      verdict: 'not ok',
      remarks: ['state is "ready", not "backingOff"'],
    });
    expect(exitCodeOf(results)).toBe(1);
    expect(tableOf(results)).toContain('NOT OK');
    expect(complaintsOf(results)).toContain('state is "ready", not "backingOff"');
    expect(closingLineOf(results)).toBe('0 ok, 1 not ok, 0 not run here');
  });

  it('takes a fact that is missing for a difference', () => {
    expect(differences({ code: 'TIMEOUT' }, {})).toEqual(['code is absent, not "TIMEOUT"']);
  });

  it('compares by equality, pattern, alternatives and bounds', () => {
    const expected = { a: 1, b: /x/u, c: ['p', 'q'], d: { atMost: 3 }, e: { atLeast: 3 } };
    expect(differences(expected, { a: 1, b: 'axe', c: 'q', d: 3, e: 3 })).toEqual([]);
    expect(differences(expected, { a: 2, b: 'a', c: 'r', d: 4, e: 2 })).toHaveLength(5);
    expect(differences(expected, { a: '1', b: 7, c: undefined, d: '3', e: '3' })).toHaveLength(5);
  });

  it('reports a row whose process failed, and runs the others', async () => {
    const results = await runRows([row('F10'), row('F12')], 2, (next) =>
      next.id === 'F10'
        ? Promise.reject(new Error('the host ended with SIGABRT'))
        : Promise.resolve({ seen: {}, problems: [], ms: 1 }),
    );
    expect(results.map(({ name, verdict }) => [name, verdict])).toEqual([
      ['F10', 'not ok'],
      ['F12', 'ok'],
    ]);
    expect(exitCodeOf(results)).toBe(1);
  });

  it('runs a row that measures only when no other does', async () => {
    let running = 0;
    const neighbours: number[] = [];
    await runRows([row('F23', { isAlone: true }), row('F10'), row('F12')], 3, async (next) => {
      running += 1;
      if (next.isAlone === true) neighbours.push(running);
      await Promise.resolve();
      running -= 1;
      return { seen: {}, problems: [], ms: 1 };
    });
    expect(neighbours).toEqual([1]);
  });

  it('says why a row does not run here, which is no failure', async () => {
    const absent: AnyRow = { id: 'F108', inject: 'h:401-token-hang', absent: 'needs OAuth' };
    const results = await runRows(
      [absent, row('F10')],
      1,
      performing({ state: 'backingOff', code: 'TIMEOUT' }),
    );
    expect(results[0]).toMatchObject({ verdict: 'not run', remarks: ['needs OAuth'] });
    expect(exitCodeOf(results)).toBe(0);
    expect(tableOf(results)).toContain('not run: needs OAuth');
  });

  it('fails when nothing was chosen', () => {
    expect(exitCodeOf([])).toBe(1);
  });

  it('chooses by id, by name and by a pattern', () => {
    const rows = [row('F2'), row('F21', { variant: 'error' }), row('F21', { variant: 'twice' })];
    const chosen = (...patterns: string[]) =>
      choose(rows, patterns).map(({ variant, id }) => variant ?? id);
    expect(chosen('F21')).toEqual(['error', 'twice']);
    expect(chosen('F21/twice')).toEqual(['twice']);
    expect(chosen('F2*')).toEqual(['F2', 'error', 'twice']);
    expect(chosen('F2')).toEqual(['F2']);
    expect(chosen()).toHaveLength(3);
  });
});
