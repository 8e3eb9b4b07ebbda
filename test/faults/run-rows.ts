/** Runs rows side by side, and those that measure alone after them; a row never ends the run. */

import type { Seen } from './expectation.ts';
import { type AnyRow, nameOf, type Row } from './row.ts';

/** What came back from the process in which a row ran. */
export interface Performance {
  readonly seen: Seen;
  /** Everything that is not as it must be; none = ok. */
  readonly problems: readonly string[];
  readonly ms: number;
}

export interface Result {
  readonly name: string;
  readonly inject: string;
  readonly verdict: 'ok' | 'not ok' | 'not run';
  readonly seen: Seen;
  /** What is wrong, or why it did not run. */
  readonly remarks: readonly string[];
  readonly ms: number;
}

export type Perform = (row: Row) => Promise<Performance>;

export async function runRows(
  rows: readonly AnyRow[],
  jobs: number,
  perform: Perform,
  onResult: (result: Result) => void = () => {},
): Promise<readonly Result[]> {
  const results = new Map<AnyRow, Result>();
  const work = async (queue: AnyRow[]): Promise<void> => {
    for (let row = queue.shift(); row !== undefined; row = queue.shift()) {
      const result = 'absent' in row ? absent(row) : await performed(row, perform);
      results.set(row, result);
      onResult(result);
    }
  };
  const isAlone = (row: AnyRow): boolean => !('absent' in row) && row.isAlone === true;
  const together = rows.filter((row) => !isAlone(row));
  await Promise.all(Array.from({ length: jobs }, () => work(together)));
  await work(rows.filter(isAlone));
  return rows.flatMap((row) => results.get(row) ?? []);
}

async function performed(row: Row, perform: Perform): Promise<Result> {
  const { inject } = row;
  try {
    const { seen, problems, ms } = await perform(row);
    const verdict = problems.length === 0 ? 'ok' : 'not ok';
    return { name: nameOf(row), inject, verdict, seen, remarks: problems, ms };
  } catch (error) {
    return {
      name: nameOf(row),
      inject,
      verdict: 'not ok',
      seen: {},
      remarks: [String(error)],
      ms: 0,
    };
  }
}

function absent(row: Extract<AnyRow, { absent: string }>): Result {
  const { inject, absent: why } = row;
  return { name: nameOf(row), inject, verdict: 'not run', seen: {}, remarks: [why], ms: 0 };
}

/** Rows by name or id; `*` stands for anything. */
export function choose(rows: readonly AnyRow[], patterns: readonly string[]): readonly AnyRow[] {
  if (patterns.length === 0) return rows;
  const tests = patterns.map(
    (pattern) =>
      new RegExp(
        `^${pattern.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`,
        'u',
      ),
  );
  return rows.filter((row) => tests.some((test) => test.test(row.id) || test.test(nameOf(row))));
}

/** 1 when a row is not ok, or when none was chosen: an empty run proves nothing. */
export function exitCodeOf(results: readonly Result[]): 0 | 1 {
  const isBad = results.length === 0 || results.some(({ verdict }) => verdict === 'not ok');
  return isBad ? 1 : 0;
}
