import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { quotedFor } from '../policies/text/quoted.ts';
import {
  childrenOf,
  guardText,
  isWithin,
  transitionsOf,
  triggerOf,
  withDescendants,
} from './chart-parts.ts';
import { type ChartTextOptions, stateAt } from './chart-text.ts';

/**
 * Writes a chart, or one region of it, as a Mermaid `stateDiagram-v2`.
 *
 * Mermaid cannot draw an arrow between a state and one inside it, nor dividers
 * between regions with such arrows in them. So an arrow from a state to its own
 * inside starts at a small state `any` drawn within, an arrow to a state around
 * leads to where that state begins, and regions are drawn as states side by side.
 * Transitions that only act are left out. Equal charts give equal texts.
 */
export function chartMermaid(machine: AnyStateMachine, options: ChartTextOptions = {}): string {
  const top = options.of === undefined ? machine.root : stateAt(machine, options.of);
  return new MermaidWriter(top).write();
}

interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

class MermaidWriter {
  readonly #top: AnyStateNode;
  /** Ids of the states `any` that some arrow starts at. */
  readonly #anys = new Set<string>();

  constructor(top: AnyStateNode) {
    this.#top = top;
  }

  write(): string {
    const transitions = withDescendants(this.#top).flatMap(transitionsOf);
    const arrows = merged(transitions.flatMap((transition) => this.#arrowsOf(transition)));
    return [
      'stateDiagram-v2',
      '  direction LR',
      ...this.#inside(this.#top).map((line) => `  ${line}`),
      ...arrows.map(({ from, to, label }) => `  ${from} --> ${to} : ${label}`),
      '',
    ].join('\n');
  }

  #inside(state: AnyStateNode): readonly string[] {
    const any = this.#anyOf(state);
    return [
      ...startsOf(state).map((start) => `[*] --> ${this.#idOf(start)}`),
      ...(this.#anys.has(any) ? [`state "any" as ${any}`] : []),
      ...childrenOf(state).flatMap((child) => this.#box(child)),
    ];
  }

  #box(state: AnyStateNode): readonly string[] {
    const id = this.#idOf(state);
    const name = `state "${quotedFor('mermaid', state.key)}" as ${id}`;
    if (state.type === 'final') return [name, `${id} --> [*]`];
    if (childrenOf(state).length === 0) return [name];
    return [`${name} {`, ...this.#inside(state).map((line) => `  ${line}`), '}'];
  }

  #arrowsOf(transition: AnyTransitionDefinition): readonly Arrow[] {
    const source: AnyStateNode = transition.source;
    const targets: readonly AnyStateNode[] = transition.target ?? [];
    const guard = transition.guard === undefined ? '' : ` [${guardText(transition.guard)}]`;
    const label = quotedFor('mermaid', triggerOf(transition) + guard);
    return targets
      .filter((target) => isWithin(target, this.#top))
      .map((target) => ({
        from: isInside(target, source) ? this.#useAny(source) : this.#idOf(source),
        to: this.#idOf(isInside(source, target) ? beginningOf(target) : target),
        label,
      }));
  }

  #useAny(state: AnyStateNode): string {
    const any = this.#anyOf(state);
    this.#anys.add(any);
    return any;
  }

  #anyOf(state: AnyStateNode): string {
    return `${this.#idOf(state)}__any`;
  }

  // With the name of the top in front no id is one of Mermaid's own words, such as `end`.
  #idOf(state: AnyStateNode): string {
    const below = state.path.slice(this.#top.path.length);
    return [this.#top.key, ...below].join('__').replaceAll(/\W/g, '_');
  }
}

function isInside(state: AnyStateNode, other: AnyStateNode): boolean {
  return state !== other && isWithin(state, other);
}

function startsOf(state: AnyStateNode): readonly AnyStateNode[] {
  if (state.type === 'compound') return state.initial.target;
  return state.type === 'parallel' ? childrenOf(state) : [];
}

function beginningOf(state: AnyStateNode): AnyStateNode {
  const start = startsOf(state)[0];
  return start === undefined ? state : beginningOf(start);
}

// One arrow with several labels instead of several arrows over each other.
function merged(arrows: readonly Arrow[]): readonly Arrow[] {
  const byEnds = new Map<string, Arrow>();
  for (const arrow of arrows) {
    const ends = `${arrow.from} ${arrow.to}`;
    const known = byEnds.get(ends);
    const label = known === undefined ? arrow.label : `${known.label}<br>${arrow.label}`;
    byEnds.set(ends, { ...arrow, label });
  }
  return [...byEnds.values()];
}
