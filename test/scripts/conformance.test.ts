import { describe, expect, it } from 'vitest';

import { expectedFailures, requirementsOf } from '../../scripts/conformance/suite.ts';
import {
  type Check,
  judge,
  type Row,
  rowLines,
  summary,
} from '../../scripts/conformance/verdict.ts';

const check = (status: Check['status']): Check => ({ id: 'a', name: 'A', status });

function judged(
  checks: readonly Check[] | undefined,
  more: { expected?: true; trouble?: string },
): Row {
  const [row] = judge(
    { required: ['one'], unscored: [] },
    checks === undefined ? [] : [{ scenario: 'one', checks, trouble: more.trouble }],
    more.expected ? [{ scenario: 'one', reason: 'not built' }] : [],
  );
  if (row === undefined) throw new Error('no row');
  return row;
}

describe('a conformance verdict', () => {
  it.each([
    ['passes', [check('SUCCESS'), check('INFO')], {}, 'passed', false],
    ['fails', [check('SUCCESS'), check('FAILURE')], {}, 'failed', true],
    ['only warns', [check('SUCCESS'), check('WARNING')], {}, 'failed', true],
    [
      'passes even though its client failed',
      [check('SUCCESS')],
      { trouble: 'late' },
      'failed',
      true,
    ],
    ['checks nothing', [check('SKIPPED')], {}, 'not run', true],
    ['is missing', undefined, {}, 'not run', true],
    ['fails as expected', [check('FAILURE')], { expected: true as const }, 'failed', false],
    ['passes unexpectedly', [check('SUCCESS')], { expected: true as const }, 'passed', true],
    ['is expected to fail and checks nothing', [], { expected: true as const }, 'not run', true],
  ])('is decided for a required scenario that %s', (_what, checks, more, end, isWrong) => {
    expect(judged(checks, more)).toMatchObject({ end, isWrong });
  });

  it('ignores failures of unscored scenarios but reports them', () => {
    const scenarios = ['runs', 'rests', 'breaks'];
    const results = [
      { scenario: 'runs', checks: [check('SUCCESS')] },
      { scenario: 'breaks', checks: [check('FAILURE')] },
    ];
    const rows = judge({ required: [], unscored: scenarios }, results, []);
    expect(rows.map(({ isWrong }) => isWrong)).toEqual([false, false, true]);
  });

  it('consists of a line per scenario and one per run', () => {
    const rows = [judged([check('SUCCESS')], {}), judged([check('FAILURE')], { expected: true })];
    expect(rowLines(rows).split('\n')).toEqual([
      '  passed      one  1 checks',
      '  expected    one  0 checks  not built',
    ]);
    expect(
      summary(new Map([['client', rows]]))
        .split('\n')
        .at(-1),
    ).toMatch(/^client +2 +1 +0 +1 +0 +0 +0$/);
  });
});

describe("the conformance suite's expected failures", () => {
  it.each(['server', 'client'] as const)('affect only unscored scenarios (%s)', (role) => {
    const all = ['2025-11-25', '2026-07-28'].map((revision) => requirementsOf(role, revision));
    const required = all.flatMap((each) => each.required);
    const unscored = all.flatMap((each) => each.unscored);
    const known = expectedFailures(role);
    for (const { scenario, reason } of known) {
      expect([...required, ...unscored]).toContain(scenario);
      expect(reason.length).toBeGreaterThan(20);
      expect(required).not.toContain(scenario);
    }
    expect(new Set(known.map(({ scenario }) => scenario)).size).toBe(known.length);
  });
});
