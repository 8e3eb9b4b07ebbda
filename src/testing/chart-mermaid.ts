import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { quotedFor } from '../policies/text/quoted.ts';
import {
  childrenOf,
  guardSuffix,
  isWithin,
  startsOf,
  targetsOf,
  transitionsOf,
  triggerOf,
  withDescendants,
} from './chart-parts.ts';
import { type ChartTextOptions, stateAt } from './chart-text.ts';

interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

/**
 * Writes a chart, or one region of it, as a Mermaid `stateDiagram-v2`.
 *
 * Mermaid cannot draw an arrow between a state and one of its descendants, nor dividers between
 * regions with such arrows. So an arrow from a state to a descendant starts at a small state `any`
 * inside it, an arrow to an ancestor leads to the ancestor's initial state, and regions are drawn as
 * states side by side. Transitions without a target are left out. Equal charts give equal output.
 */
export function chartMermaid(machine: AnyStateMachine, options: ChartTextOptions = {}): string {
  const top = options.of === undefined ? machine.root : stateAt(machine, options.of);
  // The top's name in front keeps ids distinct from Mermaid's own words, such as `end`.
  const idOf = (state: AnyStateNode): string =>
    [top.key, ...state.path.slice(top.path.length)].join('__').replaceAll(/\W/g, '_');
  const anyOf = (state: AnyStateNode): string => `${idOf(state)}__any`;
  const arrowsOf = (transition: AnyTransitionDefinition): readonly Arrow[] => {
    const source: AnyStateNode = transition.source;
    const label = quotedFor('mermaid', triggerOf(transition) + guardSuffix(transition));
    return targetsOf(transition)
      .filter((target) => isWithin(target, top))
      .map((target) => ({
        from: isInside(target, source) ? anyOf(source) : idOf(source),
        to: idOf(isInside(source, target) ? beginningOf(target) : target),
        label,
      }));
  };
  const arrows = merged(withDescendants(top).flatMap(transitionsOf).flatMap(arrowsOf));
  const inside = (state: AnyStateNode): readonly string[] => [
    ...startsOf(state).map((start) => `[*] --> ${idOf(start)}`),
    ...(arrows.some(({ from }) => from === anyOf(state)) ? [`state "any" as ${anyOf(state)}`] : []),
    ...childrenOf(state).flatMap(box),
  ];
  const box = (state: AnyStateNode): readonly string[] => {
    const id = idOf(state);
    const name = `state "${quotedFor('mermaid', state.key)}" as ${id}`;
    if (state.type === 'final') return [name, `${id} --> [*]`];
    if (childrenOf(state).length === 0) return [name];
    return [`${name} {`, ...inside(state).map((line) => `  ${line}`), '}'];
  };
  return [
    'stateDiagram-v2',
    '  direction LR',
    ...inside(top).map((line) => `  ${line}`),
    ...arrows.map(({ from, to, label }) => `  ${from} --> ${to} : ${label}`),
    '',
  ].join('\n');
}

function isInside(state: AnyStateNode, other: AnyStateNode): boolean {
  return state !== other && isWithin(state, other);
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
