import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';

export { transitionsOf } from '../recorder/chart-names.ts';

/** All states of a chart in the order they are written, the root first. */
export function statesOf(machine: AnyStateMachine): readonly AnyStateNode[] {
  return withDescendants(machine.root);
}

/** A state and all below it, in the order they are written. */
export function withDescendants(state: AnyStateNode): readonly AnyStateNode[] {
  return [state, ...childrenOf(state).flatMap(withDescendants)];
}

export function childrenOf(state: AnyStateNode): readonly AnyStateNode[] {
  return Object.values<AnyStateNode>(state.states);
}

/** The state and all above it, the root last. */
export function withAncestors(state: AnyStateNode): readonly AnyStateNode[] {
  const parent: AnyStateNode | undefined = state.parent;
  return parent === undefined ? [state] : [state, ...withAncestors(parent)];
}

export function isWithin(state: AnyStateNode, ancestor: AnyStateNode): boolean {
  return withAncestors(state).includes(ancestor);
}

/** Dotted path below the root, `connection.engaged.ready`; the root has the chart's name. */
export function pathOf(state: AnyStateNode): string {
  return state.path.length === 0 ? state.machine.id : state.path.join('.');
}

/** What makes a transition happen, in words: `call.failed`, `after cooldown`, `always`, `done session`. */
export function triggerOf(transition: AnyTransitionDefinition): string {
  const eventType = String(transition.eventType);
  if (eventType === '') return 'always';
  const match = /^xstate\.(after|done\.state|done\.actor|error\.actor|snapshot)\.(.*)$/.exec(
    eventType,
  );
  const [, kind, rest = ''] = match ?? [];
  if (kind === 'after') return `after ${delayOf(transition, rest)}`;
  if (kind === 'done.state') return 'done';
  if (kind === 'done.actor') return `done ${rest}`;
  if (kind === 'error.actor') return `error ${rest}`;
  if (kind === 'snapshot') return `snapshot ${rest}`;
  return eventType;
}

function delayOf(transition: AnyTransitionDefinition, rest: string): string {
  const delay: unknown = 'delay' in transition ? transition.delay : rest;
  return typeof delay === 'number' ? `${delay} ms` : String(delay);
}

/** A guard in words: its name, `a and b`, `not a`, `in some.state`; nameless ones are `?`. */
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

// Fixed parameters tell transitions apart, `isBlockedBy(untrusted)`; mapped ones are plumbing.
function paramsText(params: unknown): string {
  if (typeof params !== 'object' || params === null) return '';
  return `(${Object.values(params).map(String).join(', ')})`;
}

/** The guards inside a built-in one (`and`, `or`, `not`); empty for all others. */
export function guardParts(guard: unknown): readonly unknown[] {
  const parts = fieldOf(guard, 'guards');
  return Array.isArray(parts) ? parts : [];
}

/** The name of an action or guard, written as a string or as `{ type, params }`; functions have theirs. */
export function nameOf(part: unknown): string | undefined {
  if (typeof part === 'string') return part;
  const name = typeof part === 'function' ? part.name : fieldOf(part, 'type');
  return typeof name === 'string' ? name : undefined;
}

/** One field of a value of unknown shape: the built-in actions are functions that carry their settings. */
export function fieldOf(part: unknown, field: string): unknown {
  const isHolder = (typeof part === 'object' && part !== null) || typeof part === 'function';
  return isHolder ? Reflect.get(part, field) : undefined;
}

/** One transition on one line: `closed -- call.failed [reachesThreshold] --> open`. */
export function transitionText(transition: AnyTransitionDefinition): string {
  const guard = transition.guard === undefined ? '' : ` [${guardText(transition.guard)}]`;
  const targets: readonly AnyStateNode[] = transition.target ?? [];
  const target = targets.length === 0 ? '(stays)' : targets.map(pathOf).join(' + ');
  return `${pathOf(transition.source)} -- ${triggerOf(transition)}${guard} --> ${target}`;
}
