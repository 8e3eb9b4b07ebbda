/**
 * Says where everything in the picture of a chart lies: boxes of states with what is
 * written in them, and arrows with their labels. ELK's layered layout places them;
 * equal charts give equal drawings.
 *
 * All lengths are in pixels of the unscaled picture.
 */

import type { ELK, ElkEdgeSection, ElkExtendedEdge, ElkNode } from 'elkjs';
import elk from 'elkjs/lib/elk.bundled.js';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { childrenOf, withAncestors, withDescendants } from '../../src/testing/chart-parts.ts';
import { stateAt } from '../../src/testing/chart-text.ts';
import { type Arrow, arrowsOf } from './chart-arrows.ts';
import { type StateLine, stateLines } from './chart-state-lines.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

/** What to draw of a chart; default all of it. */
export interface PictureOptions {
  /** Dotted path of the one state to draw. */
  readonly of?: string;
  /** Dotted paths of states whose inside has a picture of its own. */
  readonly fold?: readonly string[];
}

export interface DrawnState extends Box {
  readonly state: AnyStateNode;
  readonly lines: readonly StateLine[];
}

export interface DrawnArrow {
  readonly arrow: Arrow;
  readonly points: readonly Point[];
  readonly label: Box;
}

/** The mark of where a level begins, and the arrow from it. */
export interface DrawnStart {
  readonly mark: Point;
  readonly points: readonly Point[];
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  /** Outer ones first. */
  readonly states: readonly DrawnState[];
  readonly arrows: readonly DrawnArrow[];
  readonly starts: readonly DrawnStart[];
}

/** What a picture is measured in: a letter of the one font, which is monospaced. */
export const letter = { width: 7.3, height: 15, smallWidth: 6.65 } as const;
export const margin = { box: 10, header: 24 } as const;
const markSize = 10;
// A box is tall enough for its arrows to be told apart.
const arrowPitch = 9;

/** Lays out a chart, or one region of it (`of` is the dotted path of a state). */
export async function layOutChart(
  machine: AnyStateMachine,
  { of, fold = [] }: PictureOptions = {},
): Promise<Drawing> {
  const top = of === undefined ? machine.root : stateAt(machine, of);
  const folded = new Set(fold.map((path) => stateAt(machine, path)));
  const isShown = (state: AnyStateNode) =>
    !withAncestors(state)
      .slice(1)
      .some((it) => folded.has(it));
  const states = withDescendants(top).filter(isShown);
  const arrows = arrowsOf(states);
  // A class that CommonJS exports: its types see a module around it.
  const layout: ELK = new elk.default();
  const placed = await layout.layout({
    id: 'picture',
    layoutOptions: pictureOptions,
    children: [boxOf(top, { folded, arrows })],
    edges: [
      ...arrows.map(edgeOf),
      ...states.filter((state) => !folded.has(state)).flatMap(startEdges),
    ],
  });
  return drawingOf(placed, states, arrows, folded);
}

const pictureOptions = {
  'elk.algorithm': 'layered',
  'elk.direction': 'RIGHT',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.json.edgeCoords': 'ROOT',
  'elk.json.shapeCoords': 'ROOT',
  'elk.padding': '[top=12,left=12,bottom=12,right=12]',
  'elk.randomSeed': '1',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
  'elk.layered.cycleBreaking.strategy': 'MODEL_ORDER',
  'elk.layered.feedbackEdges': 'true',
  'elk.layered.thoroughness': '20',
  'elk.spacing.nodeNode': '24',
  'elk.spacing.edgeLabel': '3',
  'elk.spacing.edgeEdge': '12',
  'elk.spacing.edgeNode': '16',
  'elk.layered.spacing.nodeNodeBetweenLayers': '36',
  'elk.layered.spacing.edgeNodeBetweenLayers': '14',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '9',
};

interface Shown {
  readonly folded: ReadonlySet<AnyStateNode>;
  readonly arrows: readonly Arrow[];
}

function boxOf(state: AnyStateNode, shown: Shown): ElkNode {
  const isFolded = shown.folded.has(state);
  const lines = stateLines(state, isFolded);
  const width = widthOf(lines);
  const height = heightOf(lines);
  const children = isFolded ? [] : childrenOf(state);
  if (children.length === 0) {
    const touching = shown.arrows.filter(
      ({ source, target }) => source === state || target === state,
    );
    return { id: state.id, width, height: Math.max(height, touching.length * arrowPitch) };
  }
  const start = state.type === 'compound' ? [startMark(state)] : [];
  return {
    id: state.id,
    layoutOptions: {
      'elk.padding': `[top=${height + 14},left=18,bottom=16,right=18]`,
      'elk.nodeSize.constraints': 'MINIMUM_SIZE',
      'elk.nodeSize.minimum': `(${width}, ${height})`,
    },
    children: [...start, ...children.map((child) => boxOf(child, shown))],
  };
}

function startMark(state: AnyStateNode): ElkNode {
  return {
    id: startId(state),
    width: markSize,
    height: markSize,
    layoutOptions: { 'elk.layered.layering.layerConstraint': 'FIRST' },
  };
}

function startId(state: AnyStateNode): string {
  return `${state.id}::start`;
}

function startEdges(state: AnyStateNode): readonly ElkExtendedEdge[] {
  if (state.type !== 'compound') return [];
  const targets = state.initial.target.map(({ id }) => id);
  return [{ id: startId(state), sources: [startId(state)], targets }];
}

function edgeOf(arrow: Arrow): ElkExtendedEdge {
  return {
    id: arrow.id,
    sources: [arrow.source.id],
    targets: [arrow.target.id],
    labels: [
      {
        id: `${arrow.id}::label`,
        text: arrow.lines.join('\n'),
        width: Math.max(...arrow.lines.map(({ length }) => length)) * letter.smallWidth + 8,
        height: arrow.lines.length * (letter.height - 1) + 2,
        layoutOptions: { 'elk.edgeLabels.inline': 'true' },
      },
    ],
  };
}

function drawingOf(
  placed: ElkNode,
  states: readonly AnyStateNode[],
  arrows: readonly Arrow[],
  folded: ReadonlySet<AnyStateNode>,
): Drawing {
  const nodes = new Map(withInner(placed).map((node) => [node.id, node]));
  const edges = new Map(
    withInner(placed).flatMap(({ edges: of = [] }) => of.map((edge) => [edge.id, edge] as const)),
  );
  return {
    width: Math.ceil(placed.width ?? 0),
    height: Math.ceil(placed.height ?? 0),
    states: states.map((state) => ({
      state,
      lines: stateLines(state, folded.has(state)),
      ...boxAt(nodes.get(state.id)),
    })),
    arrows: arrows.map((arrow) => {
      const edge = edges.get(arrow.id);
      return { arrow, points: pointsOf(edge), label: boxAt(edge?.labels?.[0]) };
    }),
    starts: states
      .filter((state) => state.type === 'compound' && !folded.has(state))
      .map((state) => ({
        mark: centreOf(boxAt(nodes.get(startId(state)))),
        points: pointsOf(edges.get(startId(state))),
      })),
  };
}

function withInner(node: ElkNode): readonly ElkNode[] {
  return [node, ...(node.children ?? []).flatMap(withInner)];
}

function boxAt(placed: Partial<Box> | undefined): Box {
  const { x = 0, y = 0, width = 0, height = 0 } = placed ?? {};
  return { x: tidy(x), y: tidy(y), width: tidy(width), height: tidy(height) };
}

function pointsOf(edge: ElkExtendedEdge | undefined): readonly Point[] {
  const ends = ({ startPoint, bendPoints = [], endPoint }: ElkEdgeSection): readonly Point[] => [
    startPoint,
    ...bendPoints,
    endPoint,
  ];
  return (edge?.sections ?? []).flatMap(ends).map(({ x, y }) => ({ x: tidy(x), y: tidy(y) }));
}

function centreOf({ x, y, width, height }: Box): Point {
  return { x: tidy(x + width / 2), y: tidy(y + height / 2) };
}

/** To a tenth of a pixel: more digits would only lengthen the file. */
export function tidy(length: number): number {
  return Math.round(length * 10) / 10;
}

function widthOf(lines: readonly StateLine[]): number {
  const widths = lines.map(
    ({ kind, text }) => text.length * (kind === 'name' ? letter.width : letter.smallWidth),
  );
  return Math.ceil(Math.max(70, ...widths) + 2 * margin.box);
}

function heightOf(lines: readonly StateLine[]): number {
  return margin.header + (lines.length - 1) * letter.height + 4;
}
