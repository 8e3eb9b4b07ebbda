/** How much happened where among the records, for the band above the slider. */

import type { InspectionRecord } from '../../../src/domain/inspection.ts';

export interface ActivityBar {
  readonly place: number;
  /** 0 to 1. */
  readonly height: number;
  readonly hasFailure: boolean;
}

/** Counts the changes of status in equal stretches of the records from `first` to `last`. */
export function activity(
  records: readonly InspectionRecord[],
  first: number,
  last: number,
  columns: number,
): readonly ActivityBar[] {
  const counts = Array.from({ length: columns }, () => 0);
  const failed = new Set<number>();
  const span = Math.max(1, last - first + 1);
  for (const record of records) {
    if (record.kind !== 'status') continue;
    const place = Math.min(
      columns - 1,
      Math.max(0, Math.floor(((record.n - first) / span) * columns)),
    );
    counts[place] = (counts[place] ?? 0) + 1;
    if (hasFailed(record.status.state)) failed.add(place);
  }
  const most = Math.max(1, ...counts);
  return counts.flatMap((count, place) =>
    count === 0
      ? []
      : [{ place, height: 0.25 + (0.75 * count) / most, hasFailure: failed.has(place) }],
  );
}

function hasFailed(state: string): boolean {
  return (
    state === 'failed' || state === 'backingOff' || state === 'suspended' || state === 'degraded'
  );
}
