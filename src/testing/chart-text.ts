import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import {
  childrenOf,
  guardSuffix,
  isWithin,
  startsOf,
  statesOf,
  targetsOf,
  transitionsOf,
  triggerOf,
  withAncestors,
  withDescendants,
} from './chart-parts.ts';

/** The part of a chart to write. */
export interface ChartTextOptions {
  /** Dotted path of the state to write; default the whole chart. */
  readonly of?: string;
  /** The file names of states that are written elsewhere, by dotted path. */
  readonly elsewhere?: Readonly<Record<string, string>>;
}

/** The part of a chart that is written. */
interface Written {
  readonly top: AnyStateNode;
  readonly elsewhere: ReadonlyMap<AnyStateNode, string>;
}

// With a comment's ` * ` and the indentation of four levels, a line stays within 110 columns.
const widestColumns = 98;

/**
 * Writes a chart as text, one line per transition.
 *
 * `[*] -> a` is a level's initial state (`a + b`: regions that start together), `b -> [*]` its end,
 * `(stays)` a transition without a target. A state's children are indented below its name. A target's
 * name is relative to the line: a sibling, or a state of an enclosing level. Events with the same
 * effect share a line; several lines for one event are tried in order. A state written elsewhere is
 * one line with its targets, `b -- (see b.ts) --> a | c`. Equal charts give equal output.
 */
export function chartText(machine: AnyStateMachine, options: ChartTextOptions = {}): string {
  const { of, elsewhere = {} } = options;
  const top = of === undefined ? machine.root : stateAt(machine, of);
  const places = Object.entries(elsewhere).map(
    ([path, place]) => [stateAt(machine, path), place] as const,
  );
  const written = { top, elsewhere: new Map(places) };
  return [...beginning(top), ...ownLines(top, top), ...childrenLines(top, written)].join('\n');
}

/**
 * Writes the regions of a parallel chart with their own states only, one line each:
 * `circuit: [*] -> closed, open, halfOpen, ended -> [*]`.
 */
export function chartOutline(machine: AnyStateMachine): string {
  const { root } = machine;
  const regions = childrenOf(root).flatMap((region) =>
    wrap(`${region.key}: `, levelNames(region), ', '),
  );
  return [...beginning(root), ...ownLines(root, root), ...regions].join('\n');
}

/** The state at a dotted path below the root. */
export function stateAt(machine: AnyStateMachine, path: string): AnyStateNode {
  const found = statesOf(machine).find((state) => state.path.join('.') === path);
  if (found === undefined) throw new Error(`chart ${machine.id} has no state ${path}`);
  return found;
}

function childrenLines(state: AnyStateNode, written: Written): readonly string[] {
  return [...childrenOf(state).flatMap((child) => childLines(child, written)), ...bareLines(state)];
}

function childLines(child: AnyStateNode, written: Written): readonly string[] {
  if (child.type === 'final') return [`${child.key} -> [*]`];
  const place = written.elsewhere.get(child);
  if (place !== undefined && child !== written.top)
    return elsewhereLines(child, place, written.top);
  const own = ownLines(child, written.top);
  if (childrenOf(child).length === 0) return own;
  const inner = childrenLines(child, written).map((line) => `  ${line}`);
  return [...own, ...beginning(child, `${child.key}: `), ...inner];
}

function elsewhereLines(state: AnyStateNode, place: string, top: AnyStateNode): readonly string[] {
  const targets = withDescendants(state)
    .flatMap(transitionsOf)
    .flatMap(targetsOf)
    .filter((target) => !isWithin(target, state))
    .map((target) => nameSeenFrom(state, target, top));
  const start = `${state.key} -- (see ${place})`;
  if (targets.length === 0) return [start];
  return wrap(`${start} --> `, [...new Set(targets)], ' | ');
}

function beginning(state: AnyStateNode, name = ''): readonly string[] {
  return wrap(`${name}[*] -> `, keysOf(startsOf(state)), ' + ');
}

// States that only enclosing states leave; they would be missing without this line.
function bareLines(state: AnyStateNode): readonly string[] {
  const initial = state.type === 'compound' ? startsOf(state) : [];
  const bare = childrenOf(state).filter(
    (child) =>
      child.type === 'atomic' &&
      !initial.includes(child) &&
      transitionsOf(child).length === 0 &&
      child.invoke.length === 0,
  );
  return wrap('', keysOf(bare), ', ');
}

function keysOf(states: readonly AnyStateNode[]): readonly string[] {
  return states.map(({ key }) => key);
}

function levelNames(state: AnyStateNode): readonly string[] {
  const initial = state.type === 'compound' ? startsOf(state) : [];
  return childrenOf(state).map((child) => {
    if (initial.includes(child)) return `${child.key} (initial)`;
    return child.type === 'final' ? `${child.key} (final)` : child.key;
  });
}

function ownLines(state: AnyStateNode, top: AnyStateNode): readonly string[] {
  const invoked = state.invoke.map(({ id }) => `${state.key} invokes ${id}`);
  const arrows = arrowsOf(state, top).flatMap(({ triggers, rest }) =>
    wrap(`${state.key} -- `, triggers, ' | ', rest),
  );
  return [...invoked, ...arrows];
}

interface Arrow {
  readonly triggers: string[];
  /** What follows the triggers: ` [guard] --> target`. */
  readonly rest: string;
}

function arrowsOf(state: AnyStateNode, top: AnyStateNode): readonly Arrow[] {
  const arrows: Arrow[] = [];
  const shared = new Map<string, Arrow>();
  const groups = [state.always ?? [], ...state.transitions.values()];
  for (const group of groups) {
    for (const transition of group) {
      const rest = `${guardSuffix(transition)} --> ${targetText(transition, top)}`;
      const trigger = triggerOf(transition);
      const known = group.length === 1 ? shared.get(rest) : undefined;
      if (known !== undefined) {
        known.triggers.push(trigger);
        continue;
      }
      const arrow = { triggers: [trigger], rest };
      arrows.push(arrow);
      // Alternatives of one event stay separate, because they are tried in order.
      if (group.length === 1) shared.set(rest, arrow);
    }
  }
  return arrows;
}

function targetText(transition: AnyTransitionDefinition, top: AnyStateNode): string {
  const targets = targetsOf(transition);
  if (targets.length > 0) {
    return targets.map((target) => nameSeenFrom(transition.source, target, top)).join(' + ');
  }
  return transition.actions.length === 0 ? '(ignored)' : '(stays)';
}

// A name is resolved on the line's level first, then on enclosing levels, like a variable in blocks.
// A name that a nearer level hides is qualified.
function nameSeenFrom(source: AnyStateNode, target: AnyStateNode, top: AnyStateNode): string {
  const scopes = withAncestors(source).slice(source === top ? 0 : 1);
  const nearest = scopes.findIndex((scope) => isWithin(target, scope) && target !== scope);
  for (let index = nearest; index >= 0 && index < scopes.length; index += 1) {
    const path = target.path.slice(scopes[index]?.path.length ?? 0);
    const isHidden = scopes
      .slice(0, index)
      .some((scope) => path[0] !== undefined && path[0] in scope.states);
    if (!isHidden) return path.join('.');
  }
  return target === top ? top.key : `#${target.id}`;
}

/** Joins parts into lines that fit, continued under the first part; no lines without parts. */
function wrap(
  start: string,
  parts: readonly string[],
  separator: string,
  end = '',
): readonly string[] {
  if (parts.length === 0) return [];
  const lines: string[] = [];
  let line = start;
  parts.forEach((part, index) => {
    const isLast = index === parts.length - 1;
    const piece = isLast ? part + end : part + separator;
    if (line.length > start.length && line.length + piece.trimEnd().length > widestColumns) {
      lines.push(line.trimEnd());
      line = ' '.repeat(start.length);
    }
    line += piece;
  });
  return [...lines, line];
}
