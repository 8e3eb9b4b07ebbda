/** What part of a chart a picture shows, and how its transitions are worded there. */

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

/** What to draw of a chart; default all of it. */
export interface PictureOptions {
  /** Dotted path of the one state to draw. */
  readonly of?: string;
  /** States with a picture of their own, by dotted path, and its name. */
  readonly parts?: Readonly<Record<string, string>>;
  /** Paths of those parts whose inside is drawn here as well; default none. */
  readonly unfolded?: readonly string[];
}

export type TransitionKind = 'event' | 'after' | 'always' | 'done' | 'error';

/**
 * A chart as one picture sees it. A part is a picture in the picture: its inside is
 * drawn alike wherever it is unfolded, and the arrows around it begin and end at its
 * frame, folded or not.
 */
export class ChartView {
  readonly top: AnyStateNode;
  /** All states drawn, outer ones first. */
  readonly states: readonly AnyStateNode[];
  /** By state, the name of its own picture. */
  readonly #parts: ReadonlyMap<AnyStateNode, string>;
  readonly #folded: ReadonlySet<AnyStateNode>;

  constructor(machine: AnyStateMachine, options: PictureOptions = {}) {
    const { of, parts = {}, unfolded = [] } = options;
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
      (state) => !this.#partsAt(state).some((part) => part !== state && this.#folded.has(part)),
    );
  }

  /** Name of the picture of a state that has one of its own. */
  partName(state: AnyStateNode): string | undefined {
    return this.#parts.get(state);
  }

  isFolded(state: AnyStateNode): boolean {
    return this.#folded.has(state);
  }

  /** The states drawn in a state. */
  insideOf(state: AnyStateNode): readonly AnyStateNode[] {
    return this.isFolded(state) ? [] : childrenOf(state);
  }

  /**
   * What an arrow to or from a state begins or ends at: the outermost part around it
   * that the other end is not in. Undefined when the state is not in the picture.
   */
  endOf(state: AnyStateNode, other: AnyStateNode): AnyStateNode | undefined {
    if (!isWithin(state, this.top)) return undefined;
    return this.#partsAt(state).find((part) => !isWithin(other, part)) ?? state;
  }

  /**
   * Whether a transition is written in its state: one that stays, leaves the part,
   * leads to the inside of its own state, or is one of many that are taken at once.
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

// From here on a state is a choice: what it does at once is a table, tried from the top.
const smallestTable = 3;

/** Whether a transition is a row of a table in its state. */
export function isRow(transition: AnyTransitionDefinition): boolean {
  const source: AnyStateNode = transition.source;
  return kindOf(transition) === 'always' && (source.always ?? []).length >= smallestTable;
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

/** What makes it happen, with a mark for the ends of what is invoked; its guard says enough for `always`. */
export function triggerText(transition: AnyTransitionDefinition): string {
  const kind = kindOf(transition);
  if (kind === 'always' && transition.guard !== undefined) return '';
  return marks[kind] + triggerOf(transition).replace(/^(?:done|error) /u, '');
}

/** What follows the trigger: guard and actions. */
export function effectText(transition: AnyTransitionDefinition): string {
  const guard = transition.guard === undefined ? '' : ` [${guardText(transition.guard)}]`;
  const actions = actionsText(transition.actions);
  return `${guard}${actions === '' ? '' : ` / ${actions}`}`;
}

/** Names of actions, comma separated; those that XState itself adds for timers are left out. */
export function actionsText(actions: readonly unknown[]): string {
  const ours = actions.filter((action) => !isOfTimer(action));
  return ours.flatMap((action) => nameOf(action) ?? []).join(', ');
}

function isOfTimer(action: unknown): boolean {
  const type = typeof action === 'function' ? fieldOf(action, 'type') : undefined;
  return type === 'xstate.raise' || type === 'xstate.cancel';
}

/** What is equal by a key, in the order in which the keys come. */
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

// A sign stays with the word before it, and these with the word after them.
const inseparable = / (?=[|/→↺])|(?<=^(?:after|✓|✗)) /gu;

/** Lines of about so many letters, broken between words; those after the first are indented. */
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
