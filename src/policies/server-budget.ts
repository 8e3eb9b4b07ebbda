/**
 * How many servers may be admitted at once. Whoever holds a place keeps it; free
 * places go to the others in settings order, so equal settings refuse equal names.
 */

import type { AdmittedServer, LiveServer } from '../domain/plan.ts';
import type { ServerBudget } from '../domain/settings.ts';

/** Names of the servers that have a place: until they are gone, even if they leave. */
export function placesHeld(live: ReadonlyMap<string, LiveServer>): ReadonlySet<string> {
  const holders = [...live].filter(([, { verdict }]) => verdict === 'admitted');
  return new Set(holders.map(([name]) => name));
}

/**
 * The same servers, those refused that find no place. Only an admitted server takes
 * one: who is switched off or blocked for another reason costs nothing.
 *
 * @param servers - in settings order
 * @param held - names of the servers that are admitted now
 */
export function withinBudget(
  servers: readonly AdmittedServer[],
  budget: ServerBudget | undefined,
  held: ReadonlySet<string>,
): readonly AdmittedServer[] {
  if (budget?.mode !== 'enforce') return servers;
  const wanting = servers.filter(({ verdict }) => verdict === 'admitted');
  const isHeld = ({ desired }: AdmittedServer): boolean => held.has(desired.name);
  const first = [...wanting.filter(isHeld), ...wanting.filter((server) => !isHeld(server))];
  const refused = new Set(first.slice(budget.max));
  return servers.map((server) =>
    refused.has(server) ? { ...server, verdict: 'overBudget' } : server,
  );
}

// As the model of this budget has it: told at three quarters, and not again before half
// of that is free, so that one server that comes and goes does not tell it every time.
const warnShare = 0.75;
const rearmShare = 0.375;

/** Says whether to warn that the budget is nearly used up, given whether one warned before. */
export function isNearBudget(before: boolean, taken: number, max: number): boolean {
  if (taken > 0 && taken >= max * warnShare) return true;
  return before && taken >= max * rearmShare && taken > 0;
}
