/** A journal as text: a self-contained head, then one record per line. */

import type {
  InspectionPicture,
  InspectionRecord,
  InspectionSource,
  JournalHead,
} from '../domain/host/inspection.ts';

// Single lines are slow to send; all at once take too much memory.
const batchCount = 500;

/** Everything that a source still has, in pieces. */
export function* journalOf(source: InspectionSource): Generator<string> {
  const { last } = source;
  let next = source.first;
  yield lineOf(headOf(source, next - 1));
  while (next <= last) {
    const records = source.records(next, Math.min(batchCount, last - next + 1));
    // The reader was too slow and the next records are gone, so the journal ends here.
    if (records[0]?.n !== next) return;
    next = (records.at(-1) as InspectionRecord).n + 1;
    yield records.map(lineOf).join('');
  }
}

/** The state after record `at`, which must be kept. */
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
