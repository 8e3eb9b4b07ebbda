/** Filters, orders and groups the servers of the fleet. */

import type { MemoryUse, ServerStatus } from '../../../src/domain/host/status.ts';
import {
  type ServerState,
  serverStates,
  statesByConcern,
} from '../../../src/domain/server-state.ts';

export const orders = ['name', 'state', 'changed', 'calls', 'restarts', 'memory', 'tools'] as const;
export type Order = (typeof orders)[number];

export interface FleetChoice {
  /** Words that must all occur: in name, state, reason, circuit, catalog, transport or last error. */
  readonly text: string;
  /** Empty: all. */
  readonly states: readonly ServerState[];
  readonly grouped: boolean;
  readonly order: Order;
  readonly isReversed?: boolean;
  /** Undefined: a list for many servers, tiles for few. */
  readonly look?: FleetLook;
}

export const fleetLooks = ['tiles', 'list', 'table'] as const;
export type FleetLook = (typeof fleetLooks)[number];

// About as many tiles as fit on a screen.
const mostTiles = 30;

/** How the servers are shown, unless the user chose. */
export function lookFor({ look }: Pick<FleetChoice, 'look'>, serverCount: number): FleetLook {
  return look ?? (serverCount > mostTiles ? 'list' : 'tiles');
}

/** What servers are ranked by besides their status. */
export interface FleetUsage {
  readonly calls: ReadonlyMap<string, number>;
  readonly memory: ReadonlyMap<string, MemoryUse> | undefined;
}

const noUsage: FleetUsage = { calls: new Map(), memory: undefined };

export interface FleetGroup {
  /** Absent while servers are not grouped. */
  readonly state?: ServerState;
  readonly servers: readonly ServerStatus[];
}

const concernOf = new Map(statesByConcern.map((state, place) => [state, place]));

export function fleetGroups(
  servers: Iterable<ServerStatus>,
  choice: FleetChoice,
  usage: FleetUsage = noUsage,
): readonly FleetGroup[] {
  const words = choice.text.toLowerCase().split(/\s+/u).filter(Boolean);
  const chosen = new Set(choice.states);
  const shown = [...servers]
    .filter((status) => chosen.size === 0 || chosen.has(status.state))
    .filter((status) => words.every((word) => textOf(status).includes(word)))
    .sort(comparisons(usage)[choice.order]);
  if (choice.isReversed === true) shown.reverse();
  if (!choice.grouped) return shown.length === 0 ? [] : [{ servers: shown }];
  return statesByConcern.flatMap((state) => {
    const group = shown.filter((status) => status.state === state);
    return group.length === 0 ? [] : [{ state, servers: group }];
  });
}

/** How many servers are in each state, without empty states. */
export function totals(
  servers: Iterable<ServerStatus>,
): readonly { readonly state: ServerState; readonly count: number }[] {
  const counts = new Map<ServerState, number>();
  for (const { state } of servers) counts.set(state, (counts.get(state) ?? 0) + 1);
  return serverStates.flatMap((state) => {
    const count = counts.get(state);
    return count === undefined ? [] : [{ state, count }];
  });
}

function textOf({
  name,
  state,
  reason,
  catalog,
  circuit,
  transport,
  lastError,
}: ServerStatus): string {
  return [
    name,
    state,
    reason,
    catalog,
    `circuit ${circuit}`,
    transport,
    lastError?.code,
    lastError?.message,
  ]
    .filter((part) => part !== undefined)
    .join(' ')
    .toLowerCase();
}

const byName = (a: ServerStatus, b: ServerStatus): number =>
  a.name < b.name ? -1 : Number(a.name > b.name);

type Comparison = (a: ServerStatus, b: ServerStatus) => number;

const most =
  (numberOf: (status: ServerStatus) => number): Comparison =>
  (a, b) =>
    numberOf(b) - numberOf(a) || byName(a, b);

const comparisons = ({ calls, memory }: FleetUsage): Readonly<Record<Order, Comparison>> => ({
  name: byName,
  state: (a, b) => (concernOf.get(a.state) ?? 0) - (concernOf.get(b.state) ?? 0) || byName(a, b),
  changed: (a, b) => (a.since < b.since ? 1 : a.since > b.since ? -1 : byName(a, b)),
  calls: most(({ name }) => calls.get(name) ?? 0),
  restarts: most(({ restarts }) => restarts),
  // Servers without a process come last.
  memory: most(({ name }) => memory?.get(name)?.bytes ?? -1),
  tools: most(({ tools }) => tools),
});
