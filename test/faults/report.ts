/** Formats results as a table with a closing line. */

import { alignedTable } from '../lab/table.ts';
import type { Result } from './run-rows.ts';

const publicFacts = ['state', 'reason', 'code', 'outcome'];
// Too long for a table; the JSON and the list of problems have it.
const notInTable = [...publicFacts, 'says'];
const widest = { inject: 44, seen: 60 };

export function tableOf(results: readonly Result[]): string {
  return alignedTable([['fault', 'injected', 'seen', 'time', 'verdict'], ...results.map(lineOf)]);
}

function lineOf({ name, inject, verdict, seen, ms }: Result): readonly string[] {
  return [
    name,
    cut(inject, widest.inject),
    cut(inShort(seen), widest.seen),
    `${(ms / 1_000).toFixed(1)} s`,
    verdict === 'ok' ? 'ok' : 'NOT OK',
  ];
}

/** Lists the problems and facts of each row that is not ok. */
export function complaintsOf(results: readonly Result[]): string {
  return results
    .filter(({ verdict }) => verdict === 'not ok')
    .map(({ name, remarks, seen }) => {
      const lines = [...remarks, `saw ${JSON.stringify(seen)}`];
      return `${name}\n${lines.map((line) => `  ${line.replaceAll('\n', ' ')}`).join('\n')}\n`;
    })
    .join('');
}

/** State and code first, then the row's own facts. */
function inShort(seen: Result['seen']): string {
  const { state, reason, code, outcome } = seen;
  const words = [
    reason === undefined ? state : `${String(state)}(${String(reason)})`,
    code,
    outcome,
    ...Object.entries(seen)
      .filter(([fact, value]) => !notInTable.includes(fact) && value !== undefined)
      .map(([fact, value]) => `${fact}=${String(value)}`),
  ];
  return words.filter((word) => word !== undefined && word !== '').join(' ');
}

/** Shortens a cell and removes control characters, which come from hostile servers. */
function cut(raw: string, length: number): string {
  const text = raw.replaceAll(/\p{C}/gu, '?');
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

export function closingLineOf(results: readonly Result[]): string {
  const count = (verdict: Result['verdict']): number =>
    results.filter((result) => result.verdict === verdict).length;
  return `${count('ok')} ok, ${count('not ok')} not ok`;
}
