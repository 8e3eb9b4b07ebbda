/** The chosen records, found once and then only extended as new ones come. */

import { useRef } from 'preact/hooks';
import type { InspectionRecord } from '../../../src/domain/inspection.ts';
import type { History } from '../model/history.ts';
import { isChosen, type SequenceChoice } from '../model/sequence-rows.ts';
import { usePage } from '../page/store.ts';

interface Found {
  readonly key: string;
  readonly history: History;
  /** Number of the last record that was looked at. */
  last: number;
  first: number;
  rows: FoundRow[];
  /** Leaves of each actor after the last record that was looked at. */
  readonly leaves: Map<string, readonly string[]>;
}

export interface FoundRow {
  readonly record: InspectionRecord;
  /** Leaves of its actor before it, where it is of a state. */
  readonly was?: readonly string[];
}

export function useSequence(choice: SequenceChoice): readonly FoundRow[] {
  usePage((state) => state.revision);
  const history = usePage((state) => state.history);
  const actors = usePage((state) => state.history.known);
  const found = useRef<Found>(undefined);
  const key = `${[...choice.kinds].sort().join()} ${choice.server ?? ''} ${choice.text}`;
  const { records } = history;
  let now = found.current;
  if (
    now === undefined ||
    now.key !== key ||
    now.history !== history ||
    now.first !== history.first
  ) {
    now = { key, history, last: 0, first: history.first, rows: [], leaves: new Map() };
    found.current = now;
  }
  const serverOf = (actor: string): string | undefined => actors.get(actor)?.server;
  const start = now.last === 0 ? 0 : history.placeOf(now.last) + 1;
  const more: FoundRow[] = [];
  for (let place = start; place < records.length; place += 1) {
    const record = records[place];
    if (record === undefined) continue;
    now.last = record.n;
    const was = record.kind === 'state' ? now.leaves.get(record.actor) : undefined;
    if (record.kind === 'state') now.leaves.set(record.actor, record.leaves);
    if (isChosen(record, choice, serverOf))
      more.push({ record, ...(was === undefined ? {} : { was }) });
  }
  if (more.length > 0) now.rows = now.rows.concat(more);
  return now.rows;
}
