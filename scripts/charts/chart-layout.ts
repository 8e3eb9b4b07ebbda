/**
 * Lays out the picture of a chart: boxes of states with their text, and arrows with their labels.
 * Equal charts give equal drawings.
 *
 * A state whose inner states have no arrows to the outside is a block. It is laid out
 * separately in every arrangement, and the best one is placed like a box.
 *
 * All lengths are in pixels of the unscaled picture.
 */

import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { isWithin } from '../../src/testing/chart-parts.ts';
import type { PictureScope } from '../../visualizations/page/model/folding.ts';
import { arrowsOf } from './chart-arrows.ts';
import { columnsOf } from './chart-columns.ts';
import { ChartGraph } from './chart-graph.ts';
import { ChartView, type PictureOptions } from './chart-view.ts';
import { type Drawing, movedBy, type Shown } from './drawing.ts';

// Around the whole picture.
const margin = 12;

/** Lays out a chart, or a part of it. */
export async function layOutChart(
  machine: AnyStateMachine,
  options: PictureOptions = {},
): Promise<Drawing> {
  const view = new ChartView(machine, options);
  const block = await layOutBlock(view.top, { view, arrows: arrowsOf(view) });
  return {
    ...movedBy(block, { x: margin, y: margin }),
    width: Math.ceil(block.width + 2 * margin),
    height: Math.ceil(block.height + 2 * margin),
  };
}

async function layOutBlock(top: AnyStateNode, shown: Shown): Promise<Drawing> {
  const blocks = new Map<AnyStateNode, Drawing>();
  for (const state of blocksIn(top, shown)) blocks.set(state, await layOutBlock(state, shown));
  const columns = columnsOf(top, blocks, shown);
  const drawings = columns.length > 0 ? columns : await new ChartGraph(top, blocks, shown).draw();
  const room = rooms[shown.view.scope];
  return drawings.reduce((best, each) => (costOf(each, room) < costOf(best, room) ? each : best));
}

/** The outermost blocks below a state. */
function blocksIn(top: AnyStateNode, shown: Shown): readonly AnyStateNode[] {
  return shown.view.insideOf(top).flatMap((state) => {
    if (shown.view.insideOf(state).length === 0) return [];
    return isBlock(state, shown) ? [state] : blocksIn(state, shown);
  });
}

function isBlock(state: AnyStateNode, { arrows }: Shown): boolean {
  const isInside = (other: AnyStateNode): boolean => other !== state && isWithin(other, state);
  return arrows.every(({ source, target }) => isInside(source) === isInside(target));
}

// The visible area beside a panel, and on a phone. Scrolling down is better than scrolling sideways,
// except in an overview, which has to fit.
const rooms = {
  details: { width: 960, height: 800, tallness: 1 },
  overview: { width: 920, height: 620, tallness: 3 },
  narrow: { width: 330, height: 520, tallness: 1 },
} as const;

function costOf({ width, height }: Drawing, room: (typeof rooms)[PictureScope]): number {
  const excess =
    4 * Math.max(0, width - room.width) + room.tallness * Math.max(0, height - room.height);
  return excess + (width * height) / 2_000;
}
