/** Arranges states without arrows between them in columns of about equal height. */

import type { AnyStateNode } from 'xstate';
import { boxSize, gap, paddings, startMark } from './chart-measures.ts';
import { stateLines } from './chart-state-lines.ts';
import { type Drawing, type DrawnStart, movedBy, type Shown } from './drawing.ts';

const mostColumns = 4;

/** Draws a state with its inner states, once per number of columns. Returns nothing if arrows connect them. */
export function columnsOf(
  top: AnyStateNode,
  blocks: ReadonlyMap<AnyStateNode, Drawing>,
  { view, arrows }: Shown,
): readonly Drawing[] {
  const padding = paddings[view.scope];
  const inside = view.insideOf(top);
  const isBox = (state: AnyStateNode): boolean =>
    blocks.has(state) || view.insideOf(state).length === 0;
  const isJoined = arrows.some(({ source }) => inside.includes(source));
  if (isJoined || !inside.every(isBox)) return [];
  const lines = stateLines(top, view);
  const header = boxSize(lines);
  const cells = inside.map((state) => {
    const cell = blocks.get(state) ?? boxDrawing(state, { view, arrows });
    return isInitial(state, top) ? withStart(cell) : cell;
  });
  const counts = Array.from({ length: Math.min(mostColumns, cells.length) }, (_, at) => at + 1);
  return counts.map((count) => {
    const placed = inColumns(cells, count);
    const width = Math.max(header.width, placed.width + 2 * padding.side);
    const height = header.height + padding.top + placed.height + padding.bottom;
    const moved = movedBy(placed, { x: padding.side, y: header.height + padding.top });
    const frame = { state: top, lines, isFolded: false, x: 0, y: 0, width, height };
    return { ...moved, width, height, states: [frame, ...moved.states] };
  });
}

function isInitial(state: AnyStateNode, top: AnyStateNode): boolean {
  const initial: readonly AnyStateNode[] = top.type === 'compound' ? top.initial.target : [];
  return initial.includes(state);
}

function boxDrawing(state: AnyStateNode, { view }: Shown): Drawing {
  const lines = stateLines(state, view);
  const size = boxSize(lines);
  const isFolded = view.isFolded(state);
  return {
    ...size,
    states: [{ state, lines, isFolded, x: 0, y: 0, ...size }],
    arrows: [],
    starts: [],
  };
}

/** Adds the start mark on the left of the box. */
function withStart(drawing: Drawing): Drawing {
  const radius = startMark.size / 2;
  const x = startMark.size + startMark.way;
  const y = Math.min(drawing.height / 2, 20);
  const start: DrawnStart = {
    mark: { x: radius, y },
    points: [
      { x: radius, y },
      { x, y },
    ],
  };
  const moved = movedBy(drawing, { x, y: 0 });
  return { ...moved, width: drawing.width + x, starts: [start, ...moved.starts] };
}

/** Puts each cell into the shortest column. */
function inColumns(cells: readonly Drawing[], count: number): Drawing {
  const columns = Array.from({ length: count }, (): Drawing[] => []);
  for (const cell of cells) {
    const [shortest] = columns.toSorted((one, other) => heightOf(one) - heightOf(other));
    shortest?.push(cell);
  }
  let x = 0;
  const placed = columns.flatMap((column) => {
    let y = 0;
    const moved = column.map((cell) => {
      const here = movedBy(cell, { x, y });
      y += cell.height + gap;
      return here;
    });
    x += Math.max(0, ...column.map(({ width }) => width)) + gap;
    return moved;
  });
  return {
    width: x - gap,
    height: Math.max(...columns.map(heightOf)) - gap,
    states: placed.flatMap(({ states }) => states),
    arrows: placed.flatMap(({ arrows }) => arrows),
    starts: placed.flatMap(({ starts }) => starts),
  };
}

function heightOf(column: readonly Drawing[]): number {
  return column.reduce((sum, { height }) => sum + height + gap, 0);
}
