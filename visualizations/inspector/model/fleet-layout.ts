/**
 * The positions of the fleet's tiles. Only visible rows are drawn, so the layout is a list of rows with known
 * heights.
 */

import type { ServerStatus } from '../../../src/domain/host/status.ts';
import type { ServerState } from '../../../src/domain/server-state.ts';
import type { FleetGroup } from './fleet-list.ts';

export type FleetRow =
  | {
      readonly kind: 'heading';
      readonly top: number;
      readonly state: ServerState;
      readonly count: number;
    }
  | {
      readonly kind: 'tiles';
      readonly top: number;
      readonly servers: readonly ServerStatus[];
      /** Place of its first tile among all tiles, from 0. */
      readonly place: number;
    };

export interface FleetLayout {
  readonly columns: number;
  readonly height: number;
  readonly rows: readonly FleetRow[];
  /** The names on all tiles, in order. */
  readonly names: readonly string[];
}

/** In pixels; the style sheet has the same. */
export const sizes = { tileWidth: 232, tileHeight: 124, heading: 40, gap: 10 };

export function fleetLayout(groups: readonly FleetGroup[], width: number): FleetLayout {
  const { tileWidth, tileHeight, heading, gap } = sizes;
  const columns = Math.max(1, Math.floor((width + gap) / (tileWidth + gap)));
  const rows: FleetRow[] = [];
  const names: string[] = [];
  let top = 0;
  for (const { state, servers } of groups) {
    if (state !== undefined) {
      rows.push({ kind: 'heading', top, state, count: servers.length });
      top += heading;
    }
    for (let start = 0; start < servers.length; start += columns) {
      const row = servers.slice(start, start + columns);
      rows.push({ kind: 'tiles', top, servers: row, place: names.length });
      names.push(...row.map(({ name }) => name));
      top += tileHeight + gap;
    }
  }
  return { columns, height: top, rows, names };
}

/** The visible rows, and a few around them. */
export function rowsWithin(
  layout: FleetLayout,
  scrollTop: number,
  height: number,
): readonly FleetRow[] {
  const spare = 2 * (sizes.tileHeight + sizes.gap);
  const from = scrollTop - spare;
  const to = scrollTop + height + spare;
  const start = firstAt(layout.rows, from - sizes.tileHeight);
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

/** Which tile the arrow keys lead to. */
export function neighbour(
  layout: FleetLayout,
  name: string | undefined,
  key: string,
): string | undefined {
  const { names, columns } = layout;
  const place = name === undefined ? -1 : names.indexOf(name);
  if (place < 0) return names[0];
  const moves: Readonly<Record<string, number>> = {
    ArrowRight: place + 1,
    ArrowLeft: place - 1,
    ArrowDown: place + columns,
    ArrowUp: place - columns,
    Home: 0,
    End: names.length - 1,
  };
  const next = moves[key];
  return next === undefined ? undefined : (names[next] ?? names[place]);
}
