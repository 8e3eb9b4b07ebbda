/** Runs rows in parallel, and afterwards one by one those that measure. A failed row never ends the run. */

import type { Seen } from './expectation.ts';
import type { Row, Rows } from './row.ts';

/** The report of a row's process. */
export interface Performance {
  readonly seen: Seen;
  /** All differences and failures; empty if the row is ok. */
  readonly problems: readonly string[];
  readonly ms: number;
}

export interface Result {
  readonly name: string;
  readonly inject: string;
  readonly verdict: 'ok' | 'not ok';
  readonly seen: Seen;
  /** What is wrong; empty if the row is ok. */
  readonly remarks: readonly string[];
  readonly ms: number;
}

export type Perform = (name: string, row: Row) => Promise<Performance>;

export async function runRows(
  rows: Rows,
  jobs: number,
  perform: Perform,
  onResult: (result: Result) => void = () => {},
): Promise<readonly Result[]> {
  const results = new Map<string, Result>();
  const work = async (queue: [string, Row][]): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [name, row] = next;
      const result = await resultOf(name, row, perform);
      results.set(name, result);
      onResult(result);
    }
  };
  const isAlone = ([, row]: [string, Row]): boolean => row.isAlone === true;
  const all = Object.entries(rows);
  const together = all.filter((entry) => !isAlone(entry));
  await Promise.all(Array.from({ length: jobs }, () => work(together)));
  await work(all.filter(isAlone));
  return Object.keys(rows).flatMap((name) => results.get(name) ?? []);
}

async function resultOf(name: string, row: Row, perform: Perform): Promise<Result> {
  const nothing = { name, inject: row.inject, seen: {}, ms: 0 };
  try {
    const { seen, problems, ms } = await perform(name, row);
    const verdict = problems.length === 0 ? 'ok' : 'not ok';
    return { ...nothing, verdict, seen, remarks: problems, ms };
  } catch (error) {
    return { ...nothing, verdict: 'not ok', remarks: [String(error)] };
  }
}

/** 1 when a row is not ok or none ran, because an empty run proves nothing. */
export function exitCodeOf(results: readonly Result[]): 0 | 1 {
  const isBad = results.length === 0 || results.some(({ verdict }) => verdict === 'not ok');
  return isBad ? 1 : 0;
}
