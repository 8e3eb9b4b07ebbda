import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';

export { transitionsOf } from '../recorder/chart-names.ts';

/** All states of a chart in source order, the root first. */
export function statesOf(machine: AnyStateMachine): readonly AnyStateNode[] {
  return withDescendants(machine.root);
}

/** A state and its descendants, in source order. */
export function withDescendants(state: AnyStateNode): readonly AnyStateNode[] {
  return [state, ...childrenOf(state).flatMap(withDescendants)];
}

export function childrenOf(state: AnyStateNode): readonly AnyStateNode[] {
  return Object.values<AnyStateNode>(state.states);
}

/** A state and its ancestors, the root last. */
export function withAncestors(state: AnyStateNode): readonly AnyStateNode[] {
  const parent: AnyStateNode | undefined = state.parent;
  return parent === undefined ? [state] : [state, ...withAncestors(parent)];
}

export function isWithin(state: AnyStateNode, ancestor: AnyStateNode): boolean {
  return withAncestors(state).includes(ancestor);
}

/** A state's dotted path below the root, `connection.engaged.ready`; the chart's name for the root. */
export function pathOf(state: AnyStateNode): string {
  return state.path.length === 0 ? state.machine.id : state.path.join('.');
}

/** A transition's trigger: `call.failed`, `after cooldown`, `always`, `done session`. */
export function triggerOf(transition: AnyTransitionDefinition): string {
  const eventType = String(transition.eventType);
  if (eventType === '') return 'always';
  if (eventType.startsWith('xstate.done.state.')) return 'done';
  const [, kind, source = ''] =
    /^xstate\.(after|done|error|snapshot)\.(?:actor\.)?(.*)$/.exec(eventType) ?? [];
  if (kind === undefined) return eventType;
  if (kind !== 'after') return `${kind} ${source}`;
  const delay: unknown = 'delay' in transition ? transition.delay : source;
  return typeof delay === 'number' ? `after ${delay} ms` : `after ${String(delay)}`;
}

/** A guard's name, or `a and b`, `not a`, `in some.state`; `?` for a guard without a name. */
export function guardText(guard: unknown): string {
  if (typeof guard === 'string') return guard;
  const parts = guardParts(guard).map(guardText);
  const kind = nameOf(guard);
  if (kind === 'and' || kind === 'or') return parts.join(` ${kind} `);
  if (kind === 'not') return `not ${parts.join()}`;
  if (kind === 'stateIn') return `in ${JSON.stringify(fieldOf(guard, 'stateValue'))}`;
  if (typeof guard === 'function' || kind === undefined) return '?';
  return kind + paramsText(fieldOf(guard, 'params'));
}

// Fixed parameters distinguish transitions, as in `isBlockedBy(untrusted)`; functions are not shown.
function paramsText(params: unknown): string {
  if (typeof params !== 'object' || params === null) return '';
  return `(${Object.values(params).map(String).join(', ')})`;
}

/** The guards inside a built-in guard (`and`, `or`, `not`); empty for other guards. */
export function guardParts(guard: unknown): readonly unknown[] {
  const parts = fieldOf(guard, 'guards');
  return Array.isArray(parts) ? parts : [];
}

/** The name of an action or guard, which may be a string, `{ type, params }` or a function. */
export function nameOf(part: unknown): string | undefined {
  if (typeof part === 'string') return part;
  const name = typeof part === 'function' ? part.name : fieldOf(part, 'type');
  return typeof name === 'string' ? name : undefined;
}

/** Reads a field from an untyped value, including functions: XState's built-in actions have fields. */
export function fieldOf(part: unknown, field: string): unknown {
  const isHolder = (typeof part === 'object' && part !== null) || typeof part === 'function';
  return isHolder ? Reflect.get(part, field) : undefined;
}

/** A transition's guard in brackets, after a space; empty for a transition without a guard. */
export function guardSuffix({ guard }: AnyTransitionDefinition): string {
  return guard === undefined ? '' : ` [${guardText(guard)}]`;
}

export function targetsOf({ target }: AnyTransitionDefinition): readonly AnyStateNode[] {
  return target ?? [];
}

/** The states that are entered with a state; none for a state without children. */
export function startsOf(state: AnyStateNode): readonly AnyStateNode[] {
  return state.type === 'compound' ? state.initial.target : childrenOf(state);
}

/** One transition on one line: `closed -- call.failed [reachesThreshold] --> open`. */
export function transitionText(transition: AnyTransitionDefinition): string {
  const targets = targetsOf(transition).map(pathOf).join(' + ') || '(stays)';
  const source = pathOf(transition.source);
  return `${source} -- ${triggerOf(transition)}${guardSuffix(transition)} --> ${targets}`;
}
