/** A journal as text: a head that stands alone, and a record a line. */

import type {
  InspectionPicture,
  InspectionRecord,
  InspectionSource,
  JournalHead,
} from '../domain/host/inspection.ts';

// A line at a time is slow to send, all at once is long to hold.
const batchCount = 500;

/** All that a source still has, for a file of its own; in pieces. */
export function* journalOf(source: InspectionSource): Generator<string> {
  const { last } = source;
  let next = source.first;
  yield lineOf(headOf(source, next - 1));
  while (next <= last) {
    const records = source.records(next, Math.min(batchCount, last - next + 1));
    // A reader so slow that the ring went past: what is whole ends here.
    if (records[0]?.n !== next) return;
    next = (records.at(-1) as InspectionRecord).n + 1;
    yield records.map(lineOf).join('');
  }
}

/** What was true after record `at`, which has to be there. */
export function headOf(source: InspectionSource, at: number): JournalHead {
  const { startedAt, clockStart, version, machines } = source;
  const picture = source.picture(at) as InspectionPicture;
  const contexts = picture.actors.flatMap(({ actor }) => {
    const context = source.context(actor, at);
    return context === undefined ? [] : [[actor, context] as const];
  });
  return {
    kind: 'journal',
    format: 1,
    version,
    startedAt,
    clockStart,
    machines,
    picture,
    contexts: Object.fromEntries(contexts),
  };
}

export function lineOf(document: JournalHead | InspectionRecord): string {
  return `${JSON.stringify(document)}\n`;
}
