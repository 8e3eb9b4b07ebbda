/**
 * The positions of the fleet's servers. Only visible rows are drawn, so the layout is a list of rows with known
 * heights. As tiles and in a table, all rows are alike; in a compact list, a server with a problem has a row of its own, which has
 * room for the cause, and the others share rows.
 */

import type { ServerStatus } from '../../../src/domain/host/status.ts';
import type { ServerState } from '../../../src/domain/server-state.ts';
import { isProblem } from './cause.ts';
import type { FleetGroup, FleetLook } from './fleet-list.ts';

/** How a server is drawn. */
export type FleetShape = 'tile' | 'line' | 'chip' | 'row';

export type FleetRow =
  | {
      readonly kind: 'heading';
      readonly top: number;
      readonly height: number;
      readonly state: ServerState;
      readonly count: number;
    }
  | {
      readonly kind: FleetShape;
      readonly top: number;
      readonly height: number;
      readonly columns: number;
      readonly servers: readonly ServerStatus[];
      /** Place of its first server among all servers, from 0. */
      readonly place: number;
    };

export interface FleetLayout {
  readonly height: number;
  readonly rows: readonly FleetRow[];
  /** The names of all servers, in order. */
  readonly names: readonly string[];
}

interface ShapeSize {
  readonly width: number;
  readonly height: number;
  readonly gap: number;
}

/** In pixels; the style sheet has the same. The width is the smallest one. */
export const sizes = {
  tile: { width: 232, height: 124, gap: 10 },
  line: { width: Infinity, height: 40, gap: 4 },
  chip: { width: 216, height: 34, gap: 6 },
  row: { width: Infinity, height: 34, gap: 0 },
} as const satisfies Record<FleetShape, ShapeSize>;

// On a phone, the cause is below the name.
const narrow = { below: 600, lineHeight: 78 } as const;
const headingHeight = 40;

export function fleetLayout(
  groups: readonly FleetGroup[],
  width: number,
  look: FleetLook = 'tiles',
): FleetLayout {
  const rows: FleetRow[] = [];
  const names: string[] = [];
  let top = 0;
  for (const { state, servers } of groups) {
    if (state !== undefined) {
      rows.push({ kind: 'heading', top, height: headingHeight, state, count: servers.length });
      top += headingHeight;
    }
    for (const [kind, run] of runsOf(servers, look)) {
      const { width: least, gap } = sizes[kind];
      const height =
        kind === 'line' && width < narrow.below ? narrow.lineHeight : sizes[kind].height;
      const columns = Math.max(1, Math.floor((width + gap) / (least + gap)));
      for (let start = 0; start < run.length; start += columns) {
        const row = run.slice(start, start + columns);
        rows.push({ kind, top, height, columns, servers: row, place: names.length });
        names.push(...row.map(({ name }) => name));
        top += height + gap;
      }
    }
  }
  return { height: top, rows, names };
}

/** Consecutive servers of one shape. */
function runsOf(
  servers: readonly ServerStatus[],
  look: FleetLook,
): readonly (readonly [FleetShape, readonly ServerStatus[]])[] {
  if (look === 'tiles') return [['tile', servers]];
  if (look === 'table') return [['row', servers]];
  const runs: [FleetShape, ServerStatus[]][] = [];
  for (const status of servers) {
    const shape = isProblem(status) ? 'line' : 'chip';
    const last = runs.at(-1);
    if (last?.[0] === shape) last[1].push(status);
    else runs.push([shape, [status]]);
  }
  return runs;
}

// Rows drawn above and below the visible ones.
const spare = 2 * (sizes.tile.height + sizes.tile.gap);

/** The visible rows, and a few around them. */
export function rowsWithin(
  layout: FleetLayout,
  scrollTop: number,
  height: number,
): readonly FleetRow[] {
  const from = scrollTop - spare;
  const to = scrollTop + height + spare;
  const start = firstAt(layout.rows, from - sizes.tile.height);
  const end = firstAt(layout.rows, to);
  return layout.rows.slice(start, end);
}

/** Place of the first row whose top is at least `top`. */
function firstAt(rows: readonly FleetRow[], top: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.top ?? 0) < top) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The row of a server. */
export function rowOf(
  { rows, names }: FleetLayout,
  name: string,
): Exclude<FleetRow, { readonly kind: 'heading' }> | undefined {
  const place = names.indexOf(name);
  const row = rows.findLast((each) => each.kind !== 'heading' && each.place <= place);
  return row?.kind === 'heading' || place < 0 ? undefined : row;
}

/** The server that an arrow key leads to. */
export function neighbour(
  layout: FleetLayout,
  name: string | undefined,
  key: string,
): string | undefined {
  const { names } = layout;
  const place = name === undefined ? -1 : names.indexOf(name);
  if (place < 0) return names[0];
  const moves: Readonly<Record<string, () => number>> = {
    ArrowRight: () => place + 1,
    ArrowLeft: () => place - 1,
    ArrowDown: () => inRow(layout, place, 1),
    ArrowUp: () => inRow(layout, place, -1),
    Home: () => 0,
    End: () => names.length - 1,
  };
  const next = moves[key]?.();
  return next === undefined ? undefined : (names[next] ?? names[place]);
}

/** The place below or above a place, which is the last of its row where that is shorter. */
function inRow({ rows }: FleetLayout, place: number, by: 1 | -1): number {
  const holding = rows.flatMap((row) => (row.kind === 'heading' ? [] : [row]));
  const at = holding.findLastIndex((row) => row.place <= place);
  const from = holding[at];
  const to = holding[at + by];
  if (from === undefined || to === undefined) return place;
  return to.place + Math.min(place - from.place, to.servers.length - 1);
}
