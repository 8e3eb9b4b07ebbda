/** Converts a block of a picture to ELK's layered layout and back. */

import type { ELK, ElkEdgeSection, ElkExtendedEdge, ElkNode } from 'elkjs';
import elk from 'elkjs/lib/elk.bundled.js';
import type { AnyStateNode } from 'xstate';
import { type Arrow, type LabelLine, labelLines } from './chart-arrows.ts';
import { boxSize, letter, paddings, startMark } from './chart-measures.ts';
import { stateLines } from './chart-state-lines.ts';
import type { ChartView } from './chart-view.ts';
import { type Box, type Drawing, movedBy, type Point, type Shown, tidy } from './drawing.ts';

interface Arrangement {
  readonly direction: 'DOWN' | 'RIGHT';
  /** Where labels are placed on arrows across several layers: in the middle, or near the source. */
  readonly labels: 'MEDIAN_LAYER' | 'TAIL_LAYER';
  /** How wide labels may be. */
  readonly letters: number;
}

const arrangements: readonly Arrangement[] = [
  { direction: 'DOWN', labels: 'MEDIAN_LAYER', letters: 30 },
  { direction: 'DOWN', labels: 'TAIL_LAYER', letters: 30 },
  { direction: 'DOWN', labels: 'MEDIAN_LAYER', letters: 20 },
  { direction: 'DOWN', labels: 'TAIL_LAYER', letters: 20 },
  { direction: 'RIGHT', labels: 'MEDIAN_LAYER', letters: 30 },
];

// A box is large enough to keep its arrows apart.
const arrowPitch = 9;

// An overview is seen at once, so its arrows are as short as they can be.
const tightOptions = {
  'elk.spacing.nodeNode': '16',
  'elk.spacing.edgeEdge': '9',
  'elk.spacing.edgeNode': '10',
  'elk.layered.spacing.nodeNodeBetweenLayers': '12',
  'elk.layered.spacing.edgeNodeBetweenLayers': '7',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '6',
};

const pictureOptions = {
  'elk.algorithm': 'layered',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.json.edgeCoords': 'ROOT',
  'elk.json.shapeCoords': 'ROOT',
  'elk.randomSeed': '1',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
  'elk.layered.cycleBreaking.strategy': 'MODEL_ORDER',
  'elk.layered.nodePlacement.strategy': 'LINEAR_SEGMENTS',
  'elk.layered.thoroughness': '20',
  'elk.spacing.nodeNode': '24',
  'elk.spacing.edgeLabel': '3',
  'elk.spacing.edgeEdge': '12',
  'elk.spacing.edgeNode': '16',
  'elk.layered.spacing.nodeNodeBetweenLayers': '36',
  'elk.layered.spacing.edgeNodeBetweenLayers': '14',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '9',
};

// A class that CommonJS exports: its types see a module around it.
const layout: ELK = new elk.default();

export class ChartGraph {
  readonly #top: AnyStateNode;
  readonly #blocks: ReadonlyMap<AnyStateNode, Drawing>;
  readonly #view: ChartView;
  readonly #arrows: readonly Arrow[];
  readonly #states: readonly AnyStateNode[];

  constructor(top: AnyStateNode, blocks: ReadonlyMap<AnyStateNode, Drawing>, shown: Shown) {
    this.#top = top;
    this.#blocks = blocks;
    this.#view = shown.view;
    this.#states = this.#statesIn(top);
    const own = new Set(this.#states);
    this.#arrows = shown.arrows.filter(
      ({ source, target }) =>
        own.has(source) && own.has(target) && source !== top && target !== top,
    );
  }

  /** The block in each arrangement. */
  draw(): Promise<readonly Drawing[]> {
    return Promise.all(arrangements.map((each) => this.#laidOut(each)));
  }

  async #laidOut({ direction, labels, letters }: Arrangement): Promise<Drawing> {
    const lines = new Map(this.#arrows.map((arrow) => [arrow, labelLines(arrow, letters)]));
    const { layoutOptions, ...box } = this.#boxOf(this.#top, direction);
    const placed = await layout.layout({
      ...box,
      layoutOptions: {
        ...pictureOptions,
        ...(this.#view.scope === 'details' ? {} : tightOptions),
        ...layoutOptions,
        'elk.direction': direction,
        'elk.layered.edgeLabels.centerLabelPlacementStrategy': labels,
      },
      edges: [
        ...[...lines].map(([arrow, label]) => edgeOf(arrow, label)),
        ...this.#starts().flatMap(startEdges),
      ],
    });
    return this.#drawingOf(placed, lines);
  }

  #boxOf(state: AnyStateNode, direction: Arrangement['direction']): ElkNode {
    const { width, height } = boxSize(stateLines(state, this.#view));
    const block = this.#blocks.get(state);
    if (block !== undefined) return { id: state.id, width: block.width, height: block.height };
    const inside = this.#view.insideOf(state);
    if (inside.length === 0) {
      const isTouching = ({ source, target }: Arrow) => source === state || target === state;
      const room = this.#arrows.filter(isTouching).length * arrowPitch;
      return direction === 'RIGHT'
        ? { id: state.id, width, height: Math.max(height, room) }
        : { id: state.id, width: Math.max(width, room), height };
    }
    const start = this.#starts().includes(state) ? [startBox(state)] : [];
    const { top, side, bottom } = paddings[this.#view.scope];
    return {
      id: state.id,
      layoutOptions: {
        'elk.padding': `[top=${height + top},left=${side},bottom=${bottom},right=${side}]`,
        'elk.nodeSize.constraints': 'MINIMUM_SIZE',
        // With direction DOWN, ELK swaps the two.
        'elk.nodeSize.minimum':
          direction === 'RIGHT' ? `(${width}, ${height})` : `(${height}, ${width})`,
      },
      children: [...start, ...inside.map((each) => this.#boxOf(each, direction))],
    };
  }

  #drawingOf(placed: ElkNode, lines: ReadonlyMap<Arrow, readonly LabelLine[]>): Drawing {
    const header = boxSize(stateLines(this.#top, this.#view));
    const frame = {
      width: Math.max(placed.width ?? 0, header.width),
      height: placed.height ?? 0,
    };
    const nodes = new Map(withInner(placed).map((node) => [node.id, node]));
    const edges = new Map(
      withInner(placed).flatMap(({ edges: of = [] }) => of.map((edge) => [edge.id, edge] as const)),
    );
    const inner = [...this.#blocks].map(([state, block]) =>
      movedBy(block, boxAt(nodes.get(state.id))),
    );
    const states = this.#states
      .filter((state) => !this.#blocks.has(state))
      .map((state) => ({
        state,
        lines: stateLines(state, this.#view),
        isFolded: this.#view.isFolded(state),
        ...boxAt(state === this.#top ? frame : nodes.get(state.id)),
      }));
    const arrows = [...lines].map(([arrow, label]) => {
      const edge = edges.get(arrow.id);
      return { arrow, lines: label, points: pointsOf(edge), label: boxAt(edge?.labels?.[0]) };
    });
    const starts = this.#starts().map((state) => ({
      mark: centreOf(boxAt(nodes.get(startId(state)))),
      points: pointsOf(edges.get(startId(state))),
    }));
    return {
      ...frame,
      states: [...states, ...inner.flatMap((each) => each.states)],
      arrows: [...arrows, ...inner.flatMap((each) => each.arrows)],
      starts: [...starts, ...inner.flatMap((each) => each.starts)],
    };
  }

  /** The state and all states below it, except those inside blocks. */
  #statesIn(state: AnyStateNode): readonly AnyStateNode[] {
    if (this.#blocks.has(state)) return [state];
    return [state, ...this.#view.insideOf(state).flatMap((each) => this.#statesIn(each))];
  }

  #starts(): readonly AnyStateNode[] {
    return this.#states.filter(
      (state) =>
        state.type === 'compound' &&
        !this.#blocks.has(state) &&
        this.#view.insideOf(state).length > 0 &&
        initialOf(state).every((target) => this.#view.states.includes(target)),
    );
  }
}

function startBox(state: AnyStateNode): ElkNode {
  return {
    id: startId(state),
    width: startMark.size,
    height: startMark.size,
    layoutOptions: { 'elk.layered.layering.layerConstraint': 'FIRST' },
  };
}

function startId(state: AnyStateNode): string {
  return `${state.id}::start`;
}

function startEdges(state: AnyStateNode): readonly ElkExtendedEdge[] {
  const targets = initialOf(state).map(({ id }) => id);
  return [{ id: startId(state), sources: [startId(state)], targets }];
}

function initialOf(state: AnyStateNode): readonly AnyStateNode[] {
  return state.initial.target;
}

function edgeOf({ id, source, target }: Arrow, lines: readonly LabelLine[]): ElkExtendedEdge {
  const label = {
    id: `${id}::label`,
    text: lines.map(({ text }) => text).join('\n'),
    width: Math.max(...lines.map(({ text }) => text.length)) * letter.smallWidth + 8,
    height: lines.length * (letter.height - 1) + 3,
    layoutOptions: { 'elk.edgeLabels.inline': 'true' },
  };
  return {
    id,
    sources: [source.id],
    targets: [target.id],
    labels: lines.length === 0 ? [] : [label],
  };
}

function withInner(node: ElkNode): readonly ElkNode[] {
  return [node, ...(node.children ?? []).flatMap(withInner)];
}

function boxAt(placed: Partial<Box> | undefined): Box {
  const { x = 0, y = 0, width = 0, height = 0 } = placed ?? {};
  return { x: tidy(x), y: tidy(y), width: tidy(width), height: tidy(height) };
}

export function pointsOf(edge: ElkExtendedEdge | undefined): readonly Point[] {
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
