/** Compares a fork with what really happened, and finds the first difference. */

import type { ActorKey, InspectionRecord } from '../../../src/domain/host/inspection.ts';
import { labelOf } from './sequence-rows.ts';

export interface ComparedLine {
  readonly n: number;
  /** Milliseconds since the moment of the fork. */
  readonly after: number;
  readonly text: string;
}

export interface Comparison {
  readonly real: readonly ComparedLine[];
  readonly fork: readonly ComparedLine[];
  /** Place of the first line that differs; absent while one is the beginning of the other. */
  readonly differsAt?: number;
}

/** More would not be read; a server that runs for days has thousands. */
const mostLines = 200;

export function comparison(
  actor: ActorKey,
  since: number,
  really: readonly InspectionRecord[],
  forked: readonly InspectionRecord[],
): Comparison {
  const real = linesOf(actor, since, really);
  const fork = linesOf(undefined, since, forked);
  const shorter = Math.min(real.length, fork.length);
  for (let place = 0; place < shorter; place += 1) {
    if (real[place]?.text !== fork[place]?.text) return { real, fork, differsAt: place };
  }
  return { real, fork };
}

/** An actor's events and states; everything else follows from them. */
function linesOf(
  actor: ActorKey | undefined,
  since: number,
  records: readonly InspectionRecord[],
): readonly ComparedLine[] {
  const lines: ComparedLine[] = [];
  let before = '';
  for (const record of records) {
    if (lines.length === mostLines) break;
    const text = lineOf(record, actor);
    // A repeated state is not news.
    if (text === undefined || (record.kind === 'state' && text === before)) continue;
    if (record.kind === 'state') before = text;
    lines.push({ n: record.n, after: record.t - since, text });
  }
  return lines;
}

function lineOf(record: InspectionRecord, actor: ActorKey | undefined): string | undefined {
  switch (record.kind) {
    case 'event':
      return actor === undefined || record.to === actor ? `→ ${labelOf(record)}` : undefined;
    case 'state':
    case 'ignored':
      return actor === undefined || record.actor === actor ? labelOf(record) : undefined;
    default:
      return undefined;
  }
}
