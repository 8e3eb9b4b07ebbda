import type { AnyStateNode, AnyTransitionDefinition } from 'xstate';
import {
  isWithin,
  nameOf,
  pathOf,
  transitionsOf,
  withDescendants,
} from '../../src/testing/chart-parts.ts';
import {
  actionsText,
  type ChartView,
  effectText,
  grouped,
  idOf,
  isRow,
  triggerText,
  wrapped,
} from './chart-view.ts';

/** One line written in the box of a state. */
export interface StateLine {
  readonly kind: 'name' | 'invoke' | 'action' | 'inner' | 'fold' | 'tag';
  readonly text: string;
  /** The transitions that it stands for. */
  readonly transitions: readonly string[];
}

// A wider box would push its neighbours out of sight; a frame is wide anyway.
const widestLetters = { box: 38, frame: 80 } as const;

/** The text in the box of a state: name, invoked actors, actions, transitions and tags. */
export function stateLines(state: AnyStateNode, view: ChartView): readonly StateLine[] {
  const letters = view.insideOf(state).length > 0 ? widestLetters.frame : widestLetters.box;
  const lines = (kind: StateLine['kind'], text: string): readonly StateLine[] =>
    text === ''
      ? []
      : wrapped(text, letters).map((line) => ({ kind, text: line, transitions: [] }));
  if (view.scope !== 'details') {
    if (!view.isFolded(state)) return lines('name', nameText(state));
    return [...lines('name', nameText(state) + buttonRoom), foldedLine(state)];
  }
  const tags = [...state.tags].map((tag) => `#${tag}`).join(' ');
  return [
    ...lines('name', nameText(state)),
    ...state.invoke.flatMap(({ src }) => lines('invoke', `⟳ ${nameOf(src) ?? '?'}`)),
    ...(view.isFolded(state)
      ? [
          ...lines('fold', `▸ ${Object.keys(state.states).join(', ')}`),
          ...lines('fold', `drawn in ${view.partName(state) ?? ''}`),
        ]
      : [
          ...lines('action', actionLine('entry', state.entry)),
          ...lines('action', actionLine('exit', state.exit)),
          ...tableLines(state),
          ...transitionLines(state, view, letters),
        ]),
    ...lines('tag', tags),
  ];
}

// For the button that unfolds it.
const buttonRoom = '\u00a0'.repeat(3);

/** Has room for the name of the state that is active inside, which the page writes there. */
function foldedLine(state: AnyStateNode): StateLine {
  const inside = withDescendants(state).slice(1);
  const longest = Math.max(...inside.map(({ key }) => key.length));
  const text = `▸ ${inside.length} states`.padEnd(2 + longest);
  return { kind: 'fold', text, transitions: [] };
}

function nameText({ key, type }: AnyStateNode): string {
  return type === 'parallel' ? `${key} ∥` : key;
}

function actionLine(when: string, actions: readonly unknown[]): string {
  const text = actionsText(actions);
  return text === '' ? '' : `${when} / ${text}`;
}

/** The rows of a table of `always` transitions, as two columns: guard and target. */
function tableLines(state: AnyStateNode): readonly StateLine[] {
  const rows = (state.always ?? []).filter(isRow).map((transition) => ({
    left: transition.guard === undefined ? 'else' : effectText(transition).trimStart(),
    right: targetText(transition),
    transitions: [idOf(transition)],
  }));
  const width = Math.max(...rows.map(({ left }) => left.length));
  return rows.map(({ left, right, transitions }) => ({
    kind: 'inner',
    text: `${left.padEnd(width)}${right}`,
    transitions,
  }));
}

/** Transitions without an arrow; events with the same effect share a line, as in the text of a chart. */
function transitionLines(
  state: AnyStateNode,
  view: ChartView,
  letters: number,
): readonly StateLine[] {
  const written = transitionsOf(state).filter((each) => view.isLine(each) && !isRow(each));
  const byEffect = grouped(written, (each) => effectText(each) + targetText(each));
  return byEffect.flatMap(([effect, transitions]) => {
    const triggers = [...new Set(transitions.map(triggerText))].join(' | ');
    return wrapped(`${triggers}${effect}`.trimStart(), letters).map((text) => ({
      kind: 'inner' as const,
      text,
      transitions: transitions.map(idOf),
    }));
  });
}

function targetText(transition: AnyTransitionDefinition): string {
  const source: AnyStateNode = transition.source;
  const targets: readonly AnyStateNode[] = transition.target ?? [];
  if (targets.includes(source)) return ' ↺';
  if (targets.length > 0)
    return ` → ${targets.map((target) => pathSeenFrom(source, target)).join(', ')}`;
  return actionsText(transition.actions) === '' ? ' (ignored)' : '';
}

/** The path of a target relative to the closest common ancestor. */
function pathSeenFrom(source: AnyStateNode, target: AnyStateNode): string {
  if (isWithin(target, source)) return target.path.slice(source.path.length).join('.');
  const shared = target.path.findIndex((part, place) => part !== source.path[place]);
  return shared === -1 ? pathOf(target) : target.path.slice(shared).join('.');
}
