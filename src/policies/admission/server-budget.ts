/**
 * How many servers may have a place at once. A place is taken by admission, before
 * anything is started, and kept for as long as a server is tried again by itself; who
 * comes to rest gives it back. Whoever holds a place keeps it; free places go to the
 * others in settings order, so equal settings refuse equal names.
 */

import type { AdmittedServer, LiveServer } from '../../domain/plan.ts';
import type { ServerBudget } from '../../domain/settings.ts';

/** The places of a budget, by names of servers. */
export interface Places {
  /** Until they are at rest or gone, also of those that were told to leave. */
  readonly held: ReadonlySet<string>;
  /** Admitted and at rest: they want no place until somebody starts them. */
  readonly returned: ReadonlySet<string>;
  /** Whose actor just ended: if it is wanted still, the place that is free now was its own. */
  readonly heir?: string;
}

export interface Turn extends Pick<Places, 'heir'> {
  /** Who is about to be started, and so wants the place that it gave back. */
  readonly claimant?: string;
}

/**
 * Says which servers have a place now.
 *
 * @param halted - ids of the actors that wait for a person, and not for their turn or a timer
 * @param turn - the server whose turn causes the question
 */
export function placesOf(
  live: ReadonlyMap<string, LiveServer>,
  halted: ReadonlySet<string>,
  { claimant, heir }: Turn = {},
): Places {
  const held = new Set<string>();
  const returned = new Set<string>();
  for (const [name, { actorId, verdict, leaving, beside }] of live) {
    // While another generation still runs under its name, the server has not given its place back.
    if (!halted.has(actorId) || beside !== undefined) held.add(name);
    else if (verdict === 'admitted' && leaving === false && name !== claimant) returned.add(name);
  }
  return { held, returned, ...(heir === undefined ? {} : { heir }) };
}

/**
 * The same servers, those refused that find no place. Only an admitted server takes
 * one: who is switched off or blocked for another reason costs nothing.
 *
 * @param servers - in settings order
 */
export function withinBudget(
  servers: readonly AdmittedServer[],
  budget: ServerBudget | undefined,
  { held, returned, heir }: Places,
): readonly AdmittedServer[] {
  if (budget?.mode !== 'enforce') return servers;
  const { max } = budget;
  const wanting = servers.filter(
    ({ desired, verdict }) => verdict === 'admitted' && !returned.has(desired.name),
  );
  const isHeld = ({ desired }: AdmittedServer): boolean => held.has(desired.name);
  const holders = wanting.filter(isHeld);
  const leavingCount = held.size - holders.length;
  const freeCount = Math.max(0, max - Math.min(max, holders.length) - leavingCount);
  const others = wanting.filter((server) => !isHeld(server));
  const isHeir = ({ desired }: AdmittedServer): boolean => desired.name === heir;
  const inTurn = [...others.filter(isHeir), ...others.filter((server) => !isHeir(server))];
  const refused = new Set([...holders.slice(max), ...inTurn.slice(freeCount)]);
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
