/**
 * What the last pass over all servers was planned from, so that the next one reads only the servers
 * that may differ: after an edit, usually one of thousands.
 */

import type { LiveServer, Step } from '../../src/domain/plan.ts';
import type { Settings } from '../../src/domain/settings.ts';
import type { Gates } from '../../src/policies/admission/admit.ts';
import { editedServers, placeOf } from '../../src/policies/admission/server-place.ts';
import { equalTyped } from '../../src/policies/equal-typed.ts';
import type { GroupedMap } from '../../src/policies/grouped-map.ts';
import { isUnchanged, unchanged } from '../../src/policies/plan-changes.ts';

export interface LastPass {
  readonly settings: Settings;
  readonly gates: Gates;
  /** The live servers after its steps. */
  readonly live: GroupedMap<LiveServer>;
  /** Names of the servers that were not exactly as they should be; a new one is. */
  readonly open: readonly string[];
  /** The steps that keep each server of the settings, in their order. */
  readonly keeps: readonly Step[];
}

/** The servers that may need a step, and the steps that keep all others. */
export interface Difference extends Pick<LastPass, 'keeps'> {
  readonly names: readonly string[];
}

interface Before {
  readonly lastPass: LastPass | null;
}

/**
 * Returns what may differ since the last pass; undefined if all servers must be read, because a list
 * of allowed servers or the list of names differs.
 */
export function sinceLastPass(
  { settings, live, lastPass }: Pick<PassFacts, 'settings' | 'live'> & Before,
  gates: Gates,
): Difference | undefined {
  if (lastPass === null || settings === null || gates.places !== undefined) return undefined;
  const edited = editedServers(lastPass.settings, settings);
  const { decisions, ...lists } = gates;
  const { decisions: earlier, ...listsBefore } = lastPass.gates;
  if (edited === undefined || !equalTyped(lists, listsBefore)) return undefined;
  const names = new Set([
    ...edited.map(({ name }) => name),
    ...decisions.changesSince(earlier),
    ...live.changesSince(lastPass.live),
    ...lastPass.open,
  ]);
  return names.size > mostNames ? undefined : { names: [...names], keeps: lastPass.keeps };
}

// Each is put into the whole plan on its own.
const mostNames = 500;

/** What a pass was planned from, and its steps. */
export interface PassFacts extends Pick<LastPass, 'gates' | 'live'> {
  readonly settings: Settings | null;
  /** Undefined if it read all servers. */
  readonly difference: Difference | undefined;
  readonly steps: readonly Step[];
}

/** Returns what the next pass needs to know about this one, and its plan for all servers. */
export function afterPass({ settings, gates, live, difference, steps }: PassFacts): {
  readonly lastPass: LastPass | null;
  readonly plan: readonly Step[];
} {
  if (settings === null || gates.places !== undefined) return { lastPass: null, plan: steps };
  const keeps = difference?.keeps ?? settings.servers.map(({ name }) => unchanged(name));
  const isOpen = (step: Step): boolean => step.step !== 'spawn' && !isUnchanged(step);
  const open = steps.filter(isOpen).map(({ server }) => server);
  const plan = difference === undefined ? steps : wholePlan(steps, settings, keeps);
  return { lastPass: { settings, gates, live, open, keeps }, plan };
}

/** Puts the steps of some servers among those that keep the others. */
function wholePlan(
  steps: readonly Step[],
  settings: Settings,
  keeps: readonly Step[],
): readonly Step[] {
  const plan = [...keeps];
  const unwanted: Step[] = [];
  // From the last one, because a server may need two steps.
  for (const name of new Set(steps.map(({ server }) => server).toReversed())) {
    const own = steps.filter(({ server }) => server === name);
    const place = placeOf(settings, name);
    if (place < keeps.length) plan.splice(place, 1, ...own);
    else unwanted.unshift(...own);
  }
  return [...unwanted, ...plan];
}
