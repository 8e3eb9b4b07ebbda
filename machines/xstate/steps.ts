/**
 * What a microstep exits and enters, by XState's algorithm (that of SCXML), without history states.
 *
 * All of it depends only on the active states and the chosen transitions, so `chart.ts` remembers
 * it.
 */

import {
  type AnyStateNode,
  type AnyTransitionDefinition,
  type StateValue,
  spawnChild,
  stopChild,
} from 'xstate';

export type Transition = AnyTransitionDefinition;
export type Action = Transition['actions'][number];

/** What happens when a state is entered. */
export interface Entry {
  /** Entry actions, and those that start the invoked actors. */
  readonly actions: readonly Action[];
  /** Ids of the invoked actors. */
  readonly childIds: readonly string[];
  /** States that are done because this one is final. */
  readonly done: readonly AnyStateNode[];
  /** The state that completes the chart. */
  readonly completedBy: AnyStateNode | undefined;
}

/** Transitions of an active state. Those of an active state within it come first. */
export interface Choice {
  readonly candidates: readonly Transition[];
  readonly within: readonly Choice[];
}

/** Returns the transitions that active states have for a type of event; undefined if none. */
export function choiceOf(
  state: AnyStateNode,
  active: readonly AnyStateNode[],
  eventType: string,
): Choice | undefined {
  const within = active
    .filter(({ parent }) => parent === state)
    .flatMap((child) => choiceOf(child, active, eventType) ?? []);
  const candidates = candidatesOf(state, eventType);
  return within.length + candidates.length === 0 ? undefined : { candidates, within };
}

/** The exact type first, then the most specific wildcard. */
function candidatesOf({ transitions }: AnyStateNode, eventType: string): readonly Transition[] {
  const wildcards = [...transitions.keys()]
    .filter(
      (each) =>
        each !== eventType &&
        (each === '*' || (each.endsWith('.*') && `${eventType}.`.startsWith(each.slice(0, -1)))),
    )
    .sort((one, other) => other.length - one.length);
  return [eventType, ...wildcards].flatMap((each) => transitions.get(each) ?? []);
}

/** For each atomic state with any: its eventless transitions, then those of its ancestors. */
export function eventlessOf(active: readonly AnyStateNode[]): readonly (readonly Transition[])[] {
  return active
    .filter(isAtomic)
    .map((state) => [state, ...ancestorsOf(state)].flatMap(({ always }) => always ?? []))
    .filter(({ length }) => length > 0);
}

/** Returns the value of a state whose active descendants are given. */
export function valueOf(state: AnyStateNode, active: readonly AnyStateNode[]): StateValue {
  const children = active.filter(({ parent }) => parent === state);
  const [only] = children;
  if (state.type === 'compound' && only !== undefined && isAtomic(only)) return only.key;
  return Object.fromEntries(children.map((child) => [child.key, valueOf(child, active)]));
}

/** Leaves out transitions that would exit a state that another one exits. The transition of the inner state wins; otherwise the first. */
export function withoutConflicts(
  transitions: readonly Transition[],
  active: readonly AnyStateNode[],
): readonly Transition[] {
  if (transitions.length < 2) return transitions;
  const kept = new Set<Transition>();
  for (const transition of transitions) {
    const exited = new Set(exitedBy([transition], active));
    const conflicting = [...kept].filter((other) =>
      exitedBy([other], active).some((state) => exited.has(state)),
    );
    if (!conflicting.every(({ source }) => isWithin(transition.source, source))) continue;
    for (const other of conflicting) kept.delete(other);
    kept.add(transition);
  }
  return [...kept];
}

/** The states that transitions exit, innermost first. */
export function exitedBy(
  transitions: readonly Transition[],
  active: readonly AnyStateNode[],
): readonly AnyStateNode[] {
  const domains = transitions.flatMap((each) => (each.target?.length ? [domainOf(each)] : []));
  return active
    .filter((state) => domains.some((domain) => isWithin(state, domain)))
    .sort(lastFirst);
}

/** The states that transitions enter, outermost first. */
export function enteredBy(transitions: readonly Transition[]): readonly AnyStateNode[] {
  const entered = new Set<AnyStateNode>();
  for (const transition of transitions) {
    const { source, target = [], reenter } = transition;
    const domain = domainOf(transition);
    for (const state of target) {
      if (source !== state || source !== domain || reenter) entered.add(state);
      enterBelow(state, entered);
    }
    for (const state of target) {
      const ancestors = ancestorsOf(state, domain);
      if (domain?.type === 'parallel') ancestors.push(domain);
      enterAncestors(ancestors, domain, entered);
    }
  }
  return [...entered].sort((one, other) => one.order - other.order);
}

function enterBelow(state: AnyStateNode, entered: Set<AnyStateNode>): void {
  if (state.type === 'parallel') enterRegions(state, entered);
  if (state.type !== 'compound') return;
  for (const initial of state.initial.target) {
    entered.add(initial);
    enterBelow(initial, entered);
  }
}

function enterRegions(state: AnyStateNode, entered: Set<AnyStateNode>): void {
  for (const region of childrenOf(state)) {
    if ([...entered].some((each) => isWithin(each, region))) continue;
    entered.add(region);
    enterBelow(region, entered);
  }
}

function enterAncestors(
  ancestors: readonly AnyStateNode[],
  domain: AnyStateNode | undefined,
  entered: Set<AnyStateNode>,
): void {
  for (const ancestor of ancestors) {
    if (isWithin(ancestor, domain)) entered.add(ancestor);
    if (ancestor.type === 'parallel') enterRegions(ancestor, entered);
  }
}

/**
 * Returns what happens when a state is entered.
 *
 * @param active - the states that are active then, itself included
 * @param done - parallel states that this microstep has completed; it is added to
 */
export function entryOf(
  state: AnyStateNode,
  active: ReadonlySet<AnyStateNode>,
  done: Set<AnyStateNode>,
): Entry {
  const { type, parent } = state;
  const { entry: actions, childIds } = actionsOf(state);
  if (type !== 'final') return { actions, childIds, done: [], completedBy: undefined };
  const found = parent?.type === 'compound' ? [parent] : [];
  let above = parent?.type === 'parallel' ? parent : parent?.parent;
  let completedBy = above ?? state;
  while (above?.type === 'parallel' && !done.has(above) && isDone(above, active)) {
    done.add(above);
    found.push(above);
    completedBy = above;
    above = above.parent;
  }
  return {
    actions,
    childIds,
    done: found,
    completedBy: above === undefined ? completedBy : undefined,
  };
}

function isDone(state: AnyStateNode, active: ReadonlySet<AnyStateNode>): boolean {
  const children = childrenOf(state);
  if (state.type === 'parallel') return children.every((child) => isDone(child, active));
  if (state.type === 'compound')
    return children.some((child) => child.type === 'final' && active.has(child));
  return state.type === 'final';
}

export function exitActionsOf(state: AnyStateNode): readonly Action[] {
  return actionsOf(state).exit;
}

interface StateActions {
  /** Entry actions, and those that start the invoked actors. */
  readonly entry: readonly Action[];
  /** Exit actions, and those that stop the invoked actors. */
  readonly exit: readonly Action[];
  readonly childIds: readonly string[];
}

// Shared by all steps that enter or exit a state.
const known = new WeakMap<AnyStateNode, StateActions>();

function actionsOf(state: AnyStateNode): StateActions {
  let actions = known.get(state);
  if (actions === undefined) {
    const { entry, exit, invoke } = state;
    const starts = invoke.map(({ src, ...options }) =>
      spawnChild(src, { ...options, syncSnapshot: options.onSnapshot !== undefined } as never),
    );
    actions = {
      entry: [...entry, ...starts] as readonly Action[],
      exit: [...exit, ...invoke.map(({ id }) => stopChild(id))] as readonly Action[],
      childIds: invoke.map(({ id }) => id),
    };
    known.set(state, actions);
  }
  return actions;
}

/** The state within which a transition happens; undefined if that is the whole chart. */
function domainOf({ source, target = [], reenter }: Transition): AnyStateNode | undefined {
  if (!reenter && target.every((state) => state === source || isWithin(state, source)))
    return source;
  const [first, ...others] = [...target, source];
  const common = ancestorsOf(first as AnyStateNode).find((ancestor) =>
    others.every((state) => isWithin(state, ancestor)),
  );
  return common ?? (reenter ? undefined : source.machine.root);
}

/** Orders states from the innermost. */
export function lastFirst(one: AnyStateNode, other: AnyStateNode): number {
  return other.order - one.order;
}

function isAtomic({ type }: AnyStateNode): boolean {
  return type === 'atomic' || type === 'final';
}

function childrenOf({ states }: AnyStateNode): readonly AnyStateNode[] {
  return Object.values(states);
}

/** Ancestors from the innermost, without the given one and those outside it. */
function ancestorsOf(state: AnyStateNode, outside?: AnyStateNode): AnyStateNode[] {
  const ancestors: AnyStateNode[] = [];
  if (state === outside) return ancestors;
  for (let at = state.parent; at !== undefined && at !== outside; at = at.parent)
    ancestors.push(at);
  return ancestors;
}

/** An undefined outer state stands for the whole chart. */
function isWithin(state: AnyStateNode, outer: AnyStateNode | undefined): boolean {
  return outer === undefined || ancestorsOf(state).includes(outer);
}
