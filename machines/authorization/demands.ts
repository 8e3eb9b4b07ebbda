/**
 * Which servers demanded a login, and when. A demand of an earlier run keeps the first session of a
 * server from asking again; a later session of this run was demanded, so it asks.
 */

/** The latest demand of one server. */
export interface Demand {
  /** Wall clock. */
  readonly atMs: number;
  /** Whether it is from an earlier run, and no session of this run has been told of it. */
  readonly isUnused: boolean;
}

/** By server and settings. */
export type Demands = Readonly<Record<string, Demand>>;

interface Remembering {
  readonly needsUser: boolean;
  readonly rememberMs: number;
  /** Null until the stored ones are read. */
  readonly demands: Demands | null;
}

/** Whether a session without a token may assume that it would be refused. */
export function remembersDemand(
  { needsUser, rememberMs, demands }: Remembering,
  by: string,
  nowMs: number,
): boolean {
  const demand = demands?.[by];
  if (!needsUser || demand?.isUnused !== true) return false;
  const ageMs = nowMs - demand.atMs;
  // A time in the future was written before the clock was set.
  return ageMs >= 0 && ageMs < rememberMs;
}

export function withDemand({ demands }: Remembering, by: string, atMs: number): Demands {
  return { ...demands, [by]: { atMs, isUnused: false } };
}

/** The demand counts once; the next session asks the server, and forgets it until it is repeated. */
export function withRecalled({ demands }: Remembering, by: string): Demands | null {
  const { [by]: demand, ...others } = demands ?? {};
  if (demand === undefined) return demands;
  return demand.isUnused ? { ...others, [by]: { ...demand, isUnused: false } } : others;
}

/** The demands that were stored, by an earlier run. */
export function storedDemands(times: Readonly<Record<string, number>>): Demands {
  const entries = Object.entries(times);
  return Object.fromEntries(entries.map(([by, atMs]) => [by, { atMs, isUnused: true }]));
}
