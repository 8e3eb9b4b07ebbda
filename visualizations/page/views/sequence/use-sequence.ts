/** The matching records, computed once and then extended with new ones. */

import { useRef } from 'preact/hooks';
import type { InspectionRecord } from '../../../../src/domain/host/inspection.ts';
import type { History } from '../../model/history.ts';
import { worksFor } from '../../model/logins.ts';
import { isChosen, type SequenceChoice } from '../../model/sequence-rows.ts';
import { usePage } from '../../state/store.ts';

interface Found {
  readonly key: string;
  readonly history: History;
  /** Number of the last examined record. */
  last: number;
  first: number;
  rows: FoundRow[];
  /** Leaves of each actor after the last examined record. */
  readonly leaves: Map<string, readonly string[]>;
}

export interface FoundRow {
  readonly record: InspectionRecord;
  /** The actor's previous leaves, for a state record. */
  readonly was?: readonly string[];
}

export function useSequence(choice: SequenceChoice): readonly FoundRow[] {
  usePage((state) => state.revision);
  const history = usePage((state) => state.history);
  const found = useRef<Found>(undefined);
  const key = `${[...choice.kinds].sort().join()} ${choice.server ?? ''} ${choice.text}`;
  const { first } = history;
  const last = found.current;
  const isSameSearch = last?.key === key && last.history === history && last.first === first;
  const now = isSameSearch
    ? last
    : { key, history, last: 0, first, rows: [], leaves: new Map<string, readonly string[]>() };
  found.current = now;
  extend(now, choice);
  return now.rows;
}

/** Adds the records that arrived since the last call. */
function extend(found: Found, choice: SequenceChoice): void {
  const { history, leaves } = found;
  const { records, known } = history;
  const isOf = (actor: string, server: string): boolean => worksFor(known.get(actor), server);
  const start = found.last === 0 ? 0 : history.placeOf(found.last) + 1;
  const more: FoundRow[] = [];
  for (const record of records.slice(start)) {
    found.last = record.n;
    const was = record.kind === 'state' ? leaves.get(record.actor) : undefined;
    if (record.kind === 'state') leaves.set(record.actor, record.leaves);
    // Only the context changed, which a sequence does not show.
    if (was !== undefined && isSame(record, was)) continue;
    if (!isChosen(record, choice, isOf)) continue;
    more.push({ record, ...(was === undefined ? {} : { was }) });
  }
  if (more.length > 0) found.rows = found.rows.concat(more);
}

function isSame(record: InspectionRecord, was: readonly string[]): boolean {
  if (record.kind !== 'state' || record.life !== 'active') return false;
  const { leaves } = record;
  return leaves.length === was.length && leaves.every((leaf) => was.includes(leaf));
}
