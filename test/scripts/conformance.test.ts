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
  it.each([
    ['server', '2025-11-25', 'legacy', 0],
    ['server', '2025-11-25', 'modern', 0],
    ['server', '2026-07-28', 'legacy', 4],
    ['server', '2026-07-28', 'modern', 0],
    ['client', '2025-11-25', undefined, 0],
    ['client', '2026-07-28', undefined, 0],
  ] as const)('of a %s of %s in front of a %s one include %i required scenarios', (...run) => {
    const [role, revision, behind, count] = run;
    const { required, unscored } = requirementsOf(role, revision);
    const known = expectedFailures(role, { revision, ...(behind && { behind }) });
    const names = known.map(({ scenario }) => scenario);
    expect(names.filter((name) => required.includes(name))).toHaveLength(count);
    const ofOtherRevision = names.filter((name) => ![...required, ...unscored].includes(name));
    expect(ofOtherRevision.filter((name) => name.startsWith('input-'))).toEqual([]);
    expect(known.filter(({ reason }) => reason.length < 20)).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });
});
