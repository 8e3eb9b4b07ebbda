/** Decides which part of a chart a picture shows, and the text of its transitions. */

import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import {
  childrenOf,
  fieldOf,
  guardText,
  isWithin,
  nameOf,
  pathOf,
  transitionsOf,
  triggerOf,
  withAncestors,
  withDescendants,
} from '../../src/testing/chart-parts.ts';
import { stateAt } from '../../src/testing/chart-text.ts';
import type { PictureScope } from '../../visualizations/page/model/folding.ts';

/** Which part of a chart to draw; default all. */
export interface PictureOptions {
  /** Dotted path of the one state to draw. */
  readonly of?: string;
  /** States with a picture of their own, by dotted path, and its name. */
  readonly parts?: Readonly<Record<string, string>>;
  /** Paths of the parts that are drawn unfolded here; default none. */
  readonly unfolded?: readonly string[];
  /**
   * `details` draws everything; `overview` names and triggers, and no states that are left at once;
   * `narrow` names only, for the width of a phone. Default: details.
   */
  readonly scope?: PictureScope;
}

export type TransitionKind = 'event' | 'after' | 'always' | 'done' | 'error';

/**
 * The view of a chart in one picture. A part has a picture of its own: unfolded, it looks the
 * same in every picture, and the arrows around it always begin and end at its frame.
 */
export class ChartView {
  readonly top: AnyStateNode;
  /** All states drawn, outer ones first. */
  readonly states: readonly AnyStateNode[];
  /** By state, the name of its own picture. */
  readonly #parts: ReadonlyMap<AnyStateNode, string>;
  readonly #folded: ReadonlySet<AnyStateNode>;
  readonly scope: PictureScope;

  constructor(machine: AnyStateMachine, options: PictureOptions = {}) {
    const { of, parts = {}, unfolded = [], scope = 'details' } = options;
    this.scope = scope;
    this.top = of === undefined ? machine.root : stateAt(machine, of);
    this.#parts = new Map(
      Object.entries(parts)
        .map(([path, name]) => [stateAt(machine, path), name] as const)
        .filter(([state]) => state !== this.top && isWithin(state, this.top)),
    );
    this.#folded = new Set(
      [...this.#parts.keys()].filter((state) => !unfolded.includes(pathOf(state))),
    );
    this.states = withDescendants(this.top).filter(
      (state) =>
        !this.#isHidden(state) &&
        !this.#partsAt(state).some((part) => part !== state && this.#folded.has(part)),
    );
  }

  /** The name of a state's own picture. */
  partName(state: AnyStateNode): string | undefined {
    return this.#parts.get(state);
  }

  isFolded(state: AnyStateNode): boolean {
    return this.#folded.has(state);
  }

  /** The states drawn in a state. */
  insideOf(state: AnyStateNode): readonly AnyStateNode[] {
    return this.isFolded(state)
      ? []
      : childrenOf(state).filter((inside) => !this.#isHidden(inside));
  }

  /** The innermost drawn state around a state that an overview hides, or the state itself. */
  shownAt(state: AnyStateNode): AnyStateNode {
    return this.#isHidden(state) && state.parent !== undefined ? this.shownAt(state.parent) : state;
  }

  #isHidden(state: AnyStateNode): boolean {
    return this.scope !== 'details' && state !== this.top && isTable(state);
  }

  /**
   * The end of an arrow to or from a state: the outermost part around the state that does
   * not hold the other end. Undefined when the state is not in the picture.
   */
  endOf(state: AnyStateNode, other: AnyStateNode): AnyStateNode | undefined {
    if (!isWithin(state, this.top)) return undefined;
    return this.#partsAt(state).find((part) => !isWithin(other, part)) ?? state;
  }

  /**
   * Whether a transition is written in its state: it stays, leaves the part, leads to the
   * inside of its own state, or is a row of a table.
   */
  isLine(transition: AnyTransitionDefinition): boolean {
    const source: AnyStateNode = transition.source;
    const targets: readonly AnyStateNode[] = transition.target ?? [];
    const part = this.#partsAt(source).at(-1) ?? this.top;
    return (
      isRow(transition) ||
      targets.every((target) => isWithin(target, source) || !isWithin(target, part))
    );
  }

  /** The parts that a state is in or is itself, the outermost first. */
  #partsAt(state: AnyStateNode): readonly AnyStateNode[] {
    return withAncestors(state)
      .filter((each) => this.#parts.has(each))
      .reverse();
  }
}

// A state with this many `always` transitions is drawn as a table.
const smallestTable = 3;

/** Whether a transition is a row of a table in its state. */
export function isRow(transition: AnyTransitionDefinition): boolean {
  const source: AnyStateNode = transition.source;
  return kindOf(transition) === 'always' && (source.always ?? []).length >= smallestTable;
}

/** Whether a state is a table: it is left at once, by the first row whose guard holds. */
function isTable(state: AnyStateNode): boolean {
  const transitions = transitionsOf(state);
  return transitions.length > 1 && transitions.every((each) => kindOf(each) === 'always');
}

export function kindOf(transition: AnyTransitionDefinition): TransitionKind {
  const [first] = triggerOf(transition).split(' ');
  return first === 'after' || first === 'always' || first === 'done' || first === 'error'
    ? first
    : 'event';
}

/** `<id of the state>#<place among its transitions>`, as the recorder of a running chart names it. */
export function idOf(transition: AnyTransitionDefinition): string {
  const source: AnyStateNode = transition.source;
  return `${source.id}#${transitionsOf(source).indexOf(transition)}`;
}

const marks: Readonly<Record<TransitionKind, string>> = {
  event: '',
  after: '',
  always: '',
  done: '✓ ',
  error: '✗ ',
};

/** The trigger, with a mark for done and error events; empty for `always` with a guard. */
export function triggerText(transition: AnyTransitionDefinition): string {
  const kind = kindOf(transition);
  if (kind === 'always' && transition.guard !== undefined) return '';
  return marks[kind] + triggerOf(transition).replace(/^(?:done|error) /u, '');
}

/** The text after the trigger: guard and actions. */
export function effectText(transition: AnyTransitionDefinition): string {
  const guard = transition.guard === undefined ? '' : ` [${guardText(transition.guard)}]`;
  const actions = actionsText(transition.actions);
  return `${guard}${actions === '' ? '' : ` / ${actions}`}`;
}

/** Names of actions, comma separated, without those that XState adds for timers. */
export function actionsText(actions: readonly unknown[]): string {
  const ours = actions.filter((action) => !isOfTimer(action));
  return ours.flatMap((action) => nameOf(action) ?? []).join(', ');
}

function isOfTimer(action: unknown): boolean {
  const type = typeof action === 'function' ? fieldOf(action, 'type') : undefined;
  return type === 'xstate.raise' || type === 'xstate.cancel';
}

/** Groups values by a key, in the order of the keys' first occurrence. */
export function grouped<Each>(
  all: readonly Each[],
  keyOf: (each: Each) => string,
): readonly (readonly [string, readonly [Each, ...Each[]]])[] {
  const groups = new Map<string, [Each, ...Each[]]>();
  for (const each of all) {
    const group = groups.get(keyOf(each));
    if (group === undefined) groups.set(keyOf(each), [each]);
    else group.push(each);
  }
  return [...groups];
}

// A sign stays with the word before it; these words stay with the next one.
const inseparable = / (?=[|/→↺])|(?<=^(?:after|✓|✗)) /gu;

/** Wraps text at about this many letters; lines after the first are indented. */
export function wrapped(text: string, letters: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.replaceAll(inseparable, '\u00a0').split(' ')) {
    const last = lines.at(-1);
    const joined = last === undefined ? word : `${last} ${word}`;
    if (last !== undefined && joined.length > letters) lines.push(`  ${word}`);
    else lines.splice(-1, 1, joined);
  }
  return lines.map((line) => line.replaceAll('\u00a0', ' '));
}
