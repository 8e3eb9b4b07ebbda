import type { AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { isWithin, transitionsOf, withDescendants } from '../../src/testing/chart-parts.ts';
import {
  type ChartView,
  effectText,
  grouped,
  idOf,
  isRow,
  kindOf,
  type TransitionKind,
  triggerText,
  wrapped,
} from './chart-view.ts';

/** The trigger of an arrow, or a line of it. */
export interface LabelLine {
  readonly kind: TransitionKind;
  readonly text: string;
  /** The transitions that it stands for. */
  readonly transitions: readonly string[];
}

/** One arrow of a picture: all transitions between the same two states. */
export interface Arrow {
  readonly id: string;
  /** The kind of all its transitions; `event` for several kinds. */
  readonly kind: TransitionKind;
  readonly source: AnyStateNode;
  readonly target: AnyStateNode;
  readonly transitions: readonly string[];
  /** One for all events with the same effect. */
  readonly labels: readonly LabelLine[];
}

/** The arrows of a picture, in the order in which their transitions are written. */
export function arrowsOf(view: ChartView): readonly Arrow[] {
  const ways = withDescendants(view.top)
    .flatMap(transitionsOf)
    .flatMap((transition) => waysOf(transition, view));
  const byEnds = grouped(ways, ({ source, target }) => `${source.id} ${target.id}`);
  return byEnds.map(([id, same]) => {
    const [{ source, target }] = same;
    const transitions = [...new Set(same.map(({ transition }) => transition))];
    return {
      id,
      kind: commonKind(transitions),
      source,
      target,
      transitions: transitions.map(idOf),
      labels: labelsOf[view.scope](transitions, view.partName(source) !== undefined),
    };
  });
}

interface Way {
  readonly transition: AnyTransitionDefinition;
  readonly source: AnyStateNode;
  readonly target: AnyStateNode;
}

function waysOf(transition: AnyTransitionDefinition, view: ChartView): readonly Way[] {
  const from = view.shownAt(transition.source);
  const targets: readonly AnyStateNode[] = transition.target ?? [];
  return targets
    .map((target) => view.shownAt(target))
    .flatMap((to) => {
      if (isWithin(to, from)) return [];
      const source = view.endOf(from, to);
      const target = isRow(transition) ? siblingOf(from, to, view) : view.endOf(to, from);
      if (source === undefined || target === undefined) return [];
      const isDrawn = view.states.includes(source) && view.states.includes(target);
      return isDrawn ? [{ transition, source, target }] : [];
    });
}

/** The rows of a table name their targets, so their arrows end at the table's own level. */
function siblingOf(
  from: AnyStateNode,
  to: AnyStateNode,
  view: ChartView,
): AnyStateNode | undefined {
  const end = view.endOf(to, from);
  if (end === undefined || end.parent === undefined || isWithin(from, end.parent)) return end;
  return siblingOf(from, end.parent, view);
}

function commonKind(transitions: readonly AnyTransitionDefinition[]): TransitionKind {
  const [first, ...others] = new Set(transitions.map(kindOf));
  return first === undefined || others.length > 0 ? 'event' : first;
}

/**
 * The labels of an arrow; events with the same effect share a line. An arrow from a part
 * shows only its triggers: the rest is written inside.
 */
function fullLabels(
  transitions: readonly AnyTransitionDefinition[],
  isOfPart: boolean,
): readonly LabelLine[] {
  const effectOf = (each: AnyTransitionDefinition): string => (isOfPart ? '' : effectText(each));
  const labelled = transitions.filter(
    (each) => !isRow(each) && !(isOfPart && kindOf(each) === 'always'),
  );
  const byEffect = grouped(labelled, (each) => `${kindOf(each)}${effectOf(each)}`);
  return byEffect.map(([, same]) => {
    const [first] = same;
    const triggers = [...new Set(same.map(triggerText))].join(' | ');
    const text = `${triggers}${effectOf(first)}`.trimStart();
    return { kind: kindOf(first), text, transitions: same.map(idOf) };
  });
}

/** One line for an overview: the first trigger, and how many others there are. */
function shortLabels(transitions: readonly AnyTransitionDefinition[]): readonly LabelLine[] {
  const labelled = transitions.filter((each) => kindOf(each) !== 'always');
  const [first] = labelled;
  if (first === undefined) return [];
  const triggers = [...new Set(labelled.map(triggerText))];
  const more = triggers.length === 1 ? '' : `, +${triggers.length - 1}`;
  const text = `${triggers[0]}${more}`.replaceAll(' ', '\u00a0');
  return [{ kind: commonKind(labelled), text, transitions: labelled.map(idOf) }];
}

const labelsOf = { details: fullLabels, overview: shortLabels, narrow: () => [] } as const;

/** The label of an arrow, wrapped at this many letters. */
export function labelLines({ labels }: Arrow, letters: number): readonly LabelLine[] {
  return labels.flatMap((label) =>
    wrapped(label.text, letters).map((text) => ({ ...label, text })),
  );
}
