/** The moments at which a server's problem began. */

import type { ActorKey, InspectionRecord } from '../../../src/domain/host/inspection.ts';
import { isProblem } from './cause.ts';
import { toneOf } from './state-tones.ts';

export interface ProblemMoment {
  readonly n: number;
  readonly server: string;
  /** It stopped working, rather than waiting for the user or for another attempt. */
  readonly isFailure: boolean;
}

/** Every change of a server into a state that is a problem, oldest first. */
export function problemsIn(records: readonly InspectionRecord[]): readonly ProblemMoment[] {
  const troubled = new Map<string, string>();
  return records.flatMap((record, place) => {
    if (record.kind === 'gone') troubled.delete(record.server);
    if (record.kind !== 'status') return [];
    const { name, state } = record.status;
    const before = troubled.get(name);
    if (isProblem(record.status)) troubled.set(name, state);
    else troubled.delete(name);
    const isNew = isProblem(record.status) && before !== state;
    if (!isNew) return [];
    const n = settledAfter(records, place);
    return [{ n, server: name, isFailure: toneOf[state] === 'bad' }];
  });
}

/**
 * The moment at which the charts have followed a status. A status is published while its chart still takes the
 * step, so the states that the chart and its session enter are recorded directly after it.
 */
function settledAfter(records: readonly InspectionRecord[], place: number): number {
  let end = place;
  while (records[end + 1]?.kind === 'state') end += 1;
  return records[end]?.n ?? 0;
}

/** The next problem after a moment, or the last one before it. */
export function problemFrom(
  records: readonly InspectionRecord[],
  at: number,
  by: 1 | -1,
): ProblemMoment | undefined {
  const all = problemsIn(records);
  return by === 1 ? all.find(({ n }) => n > at) : all.findLast(({ n }) => n < at);
}

/**
 * Where to open a recording: at its first failure, otherwise at its first problem; without any,
 * before the troupe stopped, after which nothing runs any more.
 */
export function openingMoment(
  records: readonly InspectionRecord[],
  isRoot: (actor: ActorKey) => boolean,
): Partial<ProblemMoment> | undefined {
  const all = problemsIn(records);
  const first = all.find(({ isFailure }) => isFailure) ?? all[0];
  if (first !== undefined) return first;
  const stop = records.find(
    (each) =>
      each.kind === 'state' &&
      isRoot(each.actor) &&
      each.leaves.some((leaf) => leaf.startsWith('stop')),
  );
  return stop === undefined ? undefined : { n: stop.n - 1 };
}
