/** Judges and prints the results of the conformance suite. */

import { alignedTable } from '../../test/lab/table.ts';

export type Role = 'server' | 'client';

/** One check of a scenario, as the suite writes it. */
export interface Check {
  readonly id: string;
  readonly name: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED';
  readonly errorMessage?: string;
}

export interface ScenarioResult {
  readonly scenario: string;
  readonly checks: readonly Check[];
  /** Why our client failed, unless the scenario expects it. */
  readonly trouble?: string | undefined;
}

export interface ExpectedFailure {
  readonly scenario: string;
  readonly reason: string;
}

export interface Requirements {
  readonly required: readonly string[];
  /** Run and shown, but failures decide nothing. */
  readonly unscored: readonly string[];
}

export interface Row {
  readonly scenario: string;
  readonly isRequired: boolean;
  readonly end: 'passed' | 'failed' | 'not run';
  /** Failed, as listed in the expected failures. */
  readonly isExpected: boolean;
  /** Fails the run. */
  readonly isWrong: boolean;
  readonly checkCount: number;
  readonly note: string;
}

/** Returns one row for each scenario of the revision, in the suite's order. */
export function judge(
  { required, unscored }: Requirements,
  results: readonly ScenarioResult[],
  expected: readonly ExpectedFailure[],
): readonly Row[] {
  return [...required, ...unscored].map((scenario) => {
    const isRequired = required.includes(scenario);
    const result = results.find((each) => each.scenario === scenario);
    const known = expected.find((each) => each.scenario === scenario);
    const faults = faultsOf(result);
    const checkCount = result?.checks.filter(({ status }) => status === 'SUCCESS').length ?? 0;
    const end = faults.length > 0 ? 'failed' : checkCount > 0 ? 'passed' : 'not run';
    const isExpected = end === 'failed' && known !== undefined;
    const isStale = end !== 'failed' && known !== undefined;
    const note = isStale
      ? 'is expected to fail but does not; remove it from the list'
      : isExpected
        ? known.reason
        : faults.join('; ');
    // A scenario without checks proves nothing.
    const isMissing = isRequired && end === 'not run';
    const isWrong = isStale || isMissing || (end === 'failed' && !isExpected);
    return { scenario, isRequired, end, isExpected, isWrong, checkCount, note };
  });
}

/** The suite's own verdict ignores warnings of servers; here they are failures in both roles. */
function faultsOf(result: ScenarioResult | undefined): readonly string[] {
  const { checks = [], trouble } = result ?? {};
  const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  return [
    ...failed.map(({ name, errorMessage }) => `${name}: ${errorMessage ?? 'failed'}`),
    ...(trouble === undefined ? [] : [trouble]),
  ];
}

export function rowLines(rows: readonly Row[]): string {
  return alignedTable(
    rows.map((row) => [
      row.isWrong ? 'WRONG' : '',
      row.isExpected ? 'expected' : row.end,
      row.isRequired ? '' : 'unscored',
      row.scenario,
      `${row.checkCount} checks`,
      row.note.slice(0, 200),
    ]),
  );
}

/** One line for each run: how many scenarios passed and failed. */
export function summary(runs: ReadonlyMap<string, readonly Row[]>): string {
  const head = ['', 'required', 'passed', 'failed', 'expected', 'unscored', 'passed', 'failed'];
  const lines = [...runs].map(([title, rows]) => {
    const required = rows.filter(({ isRequired }) => isRequired);
    const unscored = rows.filter(({ isRequired }) => !isRequired);
    const expected = required.filter(({ isExpected }) => isExpected).length;
    const passed = count(required, 'passed');
    return [
      title,
      ...[required.length, passed, required.length - passed - expected, expected],
      ...[unscored.length, count(unscored, 'passed'), count(unscored, 'failed')],
    ].map(String);
  });
  return alignedTable([head, ...lines]);
}

function count(rows: readonly Row[], end: Row['end']): number {
  return rows.filter((row) => row.end === end).length;
}
