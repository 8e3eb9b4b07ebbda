/** How often the transitions of a chart were taken in a recording. */

import type {
  ActorKey,
  InspectionRecord,
  MachineKey,
} from '../../../src/domain/host/inspection.ts';
import type { MachineFacts } from './chart-facts.ts';

/** By transition; those that were never taken are missing. */
export type Coverage = ReadonlyMap<string, number>;

/** Counts the steps of all actors that run a chart: of all servers, for example. */
export function coverageOf(
  records: readonly InspectionRecord[],
  machine: MachineKey,
  machineOf: (actor: ActorKey) => MachineKey | undefined,
): Coverage {
  const counts = new Map<string, number>();
  for (const record of records) {
    if (record.kind !== 'step' || machineOf(record.actor) !== machine) continue;
    for (const edge of record.edges) counts.set(edge, (counts.get(edge) ?? 0) + 1);
  }
  return counts;
}

/** The number of a chart's transitions in a part of it, and how many of them were taken. */
export function coveredIn(
  { transitions }: Pick<MachineFacts, 'transitions'>,
  coverage: Coverage,
  isShown: (transition: string) => boolean,
): { readonly taken: number; readonly all: number } {
  const shown = Object.keys(transitions).filter(isShown);
  return { taken: shown.filter((each) => coverage.has(each)).length, all: shown.length };
}
