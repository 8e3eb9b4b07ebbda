/** Activity over the recorded time, for the band above the slider. */

import type { InspectionRecord } from '../../../src/domain/host/inspection.ts';
import type { ServerState } from '../../../src/domain/server-state.ts';
import { toneOf } from './state-tones.ts';

export interface ActivityBar {
  readonly place: number;
  /** 0 to 1. */
  readonly height: number;
  /** The worst state in this stretch. */
  readonly tone: 'plain' | 'waiting' | 'bad';
}

/** Counts status changes in equal stretches of the records from `first` to `last`. */
export function activity(
  records: readonly InspectionRecord[],
  first: number,
  last: number,
  columns: number,
): readonly ActivityBar[] {
  const counts = Array.from({ length: columns }, () => 0);
  const worst = new Map<number, ActivityBar['tone']>();
  const span = Math.max(1, last - first + 1);
  for (const record of records) {
    if (record.kind !== 'status') continue;
    const place = Math.min(
      columns - 1,
      Math.max(0, Math.floor(((record.n - first) / span) * columns)),
    );
    counts[place] = (counts[place] ?? 0) + 1;
    const tone = toneAt(record.status.state);
    if (tone === 'bad' || (tone === 'waiting' && worst.get(place) !== 'bad'))
      worst.set(place, tone);
  }
  const most = Math.max(1, ...counts);
  return counts.flatMap((count, place) =>
    count === 0
      ? []
      : [{ place, height: 0.25 + (0.75 * count) / most, tone: worst.get(place) ?? 'plain' }],
  );
}

function toneAt(state: ServerState): ActivityBar['tone'] {
  const tone = toneOf[state];
  return tone === 'bad' || tone === 'waiting' ? tone : 'plain';
}
