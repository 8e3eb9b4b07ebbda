import type { AnyStateNode } from 'xstate';
import {
  fieldOf,
  guardText,
  nameOf,
  transitionsOf,
  triggerOf,
} from '../../src/testing/chart-parts.ts';

/** One line written in the box of a state. */
export interface StateLine {
  readonly kind: 'name' | 'invoke' | 'action' | 'inner' | 'fold' | 'tag';
  readonly text: string;
}

/** What the box of a state says: its name, what it invokes, does and stands for. */
export function stateLines(state: AnyStateNode, isFolded = false): readonly StateLine[] {
  const line = (kind: StateLine['kind'], text: string): StateLine => ({ kind, text });
  return [
    line('name', state.type === 'parallel' ? `${state.key} ∥` : state.key),
    ...state.invoke.map(({ src }) => line('invoke', `⟳ ${nameOf(src) ?? '?'}`)),
    ...actionLines('entry', state.entry).map((text) => line('action', text)),
    ...actionLines('exit', state.exit).map((text) => line('action', text)),
    ...innerLines(state).map((text) => line('inner', text)),
    ...(isFolded ? [line('fold', `… ${Object.keys(state.states).join(', ')}`)] : []),
    ...(state.tags.length === 0 ? [] : [line('tag', state.tags.map((tag) => `#${tag}`).join(' '))]),
  ];
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

function actionLines(when: string, actions: readonly unknown[]): readonly string[] {
  const text = actionsText(actions);
  return text === '' ? [] : [`${when} / ${text}`];
}

/** Transitions that lead nowhere are written inside; those with one effect share a line. */
function innerLines(state: AnyStateNode): readonly string[] {
  const byEffect = new Map<string, string[]>();
  for (const transition of transitionsOf(state)) {
    if ((transition.target ?? []).length > 0) continue;
    const effect = actionsText(transition.actions);
    const guard = transition.guard === undefined ? '' : ` [${guardText(transition.guard)}]`;
    const triggers = byEffect.get(effect) ?? [];
    triggers.push(triggerOf(transition) + guard);
    byEffect.set(effect, triggers);
  }
  return [...byEffect].flatMap(([effect, triggers]) =>
    triggers.map((trigger) => (effect === '' ? `${trigger} (ignored)` : `${trigger} / ${effect}`)),
  );
}
