/**
 * Limits how many servers have a place at once. Admission takes a place before anything
 * starts; a server keeps it while it is retried automatically, and gives it back at
 * rest. Free places go to the other servers in settings order, so equal settings refuse
 * equal names.
 */

import type { AdmittedServer, LiveServer } from '../../domain/plan.ts';
import type { ServerBudget } from '../../domain/settings.ts';

/** The places of a budget, by names of servers. */
export interface Places {
  /** Held until the server is at rest or gone, also while it leaves. */
  readonly held: ReadonlySet<string>;
  /** Admitted and at rest: they need no place until they are started. */
  readonly returned: ReadonlySet<string>;
  /**
   * They take free places first: their actor has ended, so the place is their own, or they are about to
   * start and need the place that they gave back.
   */
  readonly inTurn?: readonly string[];
}

/**
 * Returns which servers have a place now.
 *
 * @param halted - ids of the actors that wait for the user, rather than for their turn or a timer
 * @param inTurn - servers that are about to start, or whose actor has ended
 */
export function placesOf(
  live: Iterable<readonly [name: string, server: LiveServer]>,
  halted: Pick<ReadonlySet<string>, 'has'>,
  inTurn: readonly string[] = [],
): Places {
  const held = new Set<string>();
  const returned = new Set<string>();
  for (const [name, { actorId, verdict, leaving, beside }] of live) {
    // While another generation still runs under its name, the server has not given its place back.
    if (!halted.has(actorId) || beside !== undefined) held.add(name);
    else if (verdict === 'admitted' && leaving === false && !inTurn.includes(name))
      returned.add(name);
  }
  return { held, returned, ...(inTurn.length === 0 ? {} : { inTurn }) };
}

/**
 * Refuses the servers that exceed the budget. Only admitted servers take a place; disabled and
 * blocked ones do not.
 *
 * @param servers - in settings order
 */
export function withinBudget(
  servers: readonly AdmittedServer[],
  budget: ServerBudget | undefined,
  { held, returned, inTurn = [] }: Places,
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
  const isFirst = ({ desired }: AdmittedServer): boolean => inTurn.includes(desired.name);
  const line = [...others.filter(isFirst), ...others.filter((server) => !isFirst(server))];
  const refused = new Set([...holders.slice(max), ...line.slice(freeCount)]);
  return servers.map((server) =>
    refused.has(server) ? { ...server, verdict: 'overBudget' } : server,
  );
}

// As in the original: warns at three quarters, and again only after the use has dropped to half
// of that, so that a single server that starts and stops does not repeat the warning.
const warnShare = 0.75;
const rearmShare = 0.375;

/** Returns whether to warn that the budget is nearly exhausted. `before` is the previous result. */
export function isNearBudget(before: boolean, taken: number, max: number): boolean {
  if (taken > 0 && taken >= max * warnShare) return true;
  return before && taken >= max * rearmShare && taken > 0;
}
