import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import {
  childrenOf,
  fieldOf,
  guardParts,
  isWithin,
  nameOf,
  pathOf,
  statesOf,
  transitionsOf,
  transitionText,
  withAncestors,
} from './chart-parts.ts';

/** What else to require of a chart, and which problems to accept. */
export interface LintOptions {
  /** Requires the option that turns an endless loop of microsteps into an error. Default false. */
  readonly needsMaxIterations?: boolean;
  /** Problems that are meant, word for word; one that does not occur is itself a problem. */
  readonly accepted?: readonly string[];
}

/**
 * Lists what is wrong with how a chart is written, one sentence per problem.
 *
 * XState accepts all of this and misbehaves at run time: an undeclared delay fires
 * at once, a missing action is skipped, a missing guard or an unhandled child error
 * ends the actor, and of two regions that exit each other one is silently dropped.
 */
export function lintChart(machine: AnyStateMachine, options: LintOptions = {}): readonly string[] {
  const accepted = new Set(options.accepted);
  const problems = [
    ...nameProblems(machine),
    ...failureProblems(machine),
    ...exitProblems(machine),
    ...wildcardProblems(machine),
    ...regionProblems(machine),
    ...(options.needsMaxIterations === true ? iterationProblems(machine) : []),
  ];
  const unused = [...accepted].filter((text) => !problems.includes(text));
  return [
    ...new Set(problems.filter((text) => !accepted.has(text))),
    ...unused.map((text) => `accepted, but does not occur: ${text}`),
  ];
}

function iterationProblems(machine: AnyStateMachine): readonly string[] {
  const count = machine.options?.maxIterations ?? Number.POSITIVE_INFINITY;
  return Number.isFinite(count) ? [] : [`${machine.id}: options.maxIterations is not set`];
}

// Real timers hold a signed 32-bit number and fire at once beyond it.
const longestDelayMs = 2 ** 31 - 1;

type Kind = 'actions' | 'guards' | 'actors' | 'delays';

interface Reference {
  readonly kind: Kind;
  readonly part: unknown;
  /** Where it is written, as the beginning of a sentence. */
  readonly place: string;
}

/** Everything a chart refers to must be a name, and every name implemented. */
function nameProblems(machine: AnyStateMachine): readonly string[] {
  const references = [
    ...statesOf(machine).flatMap(referencesOfState),
    ...referencesOfImplementations(machine),
  ];
  return [
    ...references.flatMap((reference) => problemsOf(reference, machine)),
    ...Object.entries(machine.implementations.delays).flatMap(([name, delay]) =>
      delayProblems(`delay ${name}`, delay),
    ),
  ];
}

function problemsOf({ kind, part, place }: Reference, machine: AnyStateMachine): readonly string[] {
  if (kind === 'delays') {
    if (typeof part !== 'string') return delayProblems(place, part);
  } else if (kind === 'guards' && guardParts(part).length > 0) {
    return guardParts(part).flatMap((inner) => problemsOf({ kind, part: inner, place }, machine));
  } else if (kind === 'guards' && fieldOf(part, 'stateValue') !== undefined) {
    return [];
  } else if (typeof part === 'function' || isInlineActor(kind, part)) {
    return [`${place}: inline ${singular(kind)}; give it a name in setup`];
  }
  const name = nameOf(part) ?? '(nameless)';
  const implemented = machine.implementations[kind];
  return Object.hasOwn(implemented, name) && implemented[name] !== undefined
    ? []
    : [`${place}: ${singular(kind)} ${name} is not implemented`];
}

function referencesOfState(state: AnyStateNode): readonly Reference[] {
  const path = pathOf(state);
  // The entry and exit lists of a state node also hold what XState adds for delays.
  return [
    ...actions(`${path}, entry`, listOf(state.config.entry)),
    ...actions(`${path}, exit`, listOf(state.config.exit)),
    ...(state.type === 'compound' ? actions(`${path}, initial`, state.initial.actions) : []),
    ...state.invoke.map((invoke) => ({
      kind: 'actors' as const,
      part: invoke.src,
      place: `${path}, invoke`,
    })),
    ...transitionsOf(state).flatMap((transition): readonly Reference[] => {
      const place = transitionText(transition);
      const delay: unknown = fieldOf(transition, 'delay');
      return [
        ...actions(place, transition.actions),
        ...(transition.guard === undefined
          ? []
          : [{ kind: 'guards' as const, part: transition.guard, place }]),
        ...(delay === undefined ? [] : [{ kind: 'delays' as const, part: delay, place }]),
      ];
    }),
  ];
}

function actions(place: string, parts: readonly unknown[]): readonly Reference[] {
  return parts.map((part) => ({ kind: 'actions', part, place }));
}

// Built-in actions and guards that are implemented under a name refer to further names.
function referencesOfImplementations(machine: AnyStateMachine): readonly Reference[] {
  const ofActions = Object.entries(machine.implementations.actions).flatMap(([name, action]) => {
    const place = `action ${name}`;
    const delay = fieldOf(action, 'delay');
    const src = fieldOf(action, 'src');
    return [
      ...(typeof delay === 'string' || typeof delay === 'number'
        ? [{ kind: 'delays' as const, part: delay, place }]
        : []),
      ...(typeof src === 'string' ? [{ kind: 'actors' as const, part: src, place }] : []),
    ];
  });
  const ofGuards = Object.entries(machine.implementations.guards).flatMap(([name, guard]) =>
    guardParts(guard)
      .filter((part) => typeof part !== 'function' || guardParts(part).length > 0)
      .map((part) => ({ kind: 'guards' as const, part, place: `guard ${name}` })),
  );
  return [...ofActions, ...ofGuards];
}

function delayProblems(place: string, delay: unknown): readonly string[] {
  if (typeof delay !== 'number') return [];
  return delay > longestDelayMs ? [`${place}: ${delay} ms is longer than timers can hold`] : [];
}

function isInlineActor(kind: Kind, part: unknown): boolean {
  return kind === 'actors' && String(part).startsWith('xstate.invoke.');
}

function singular(kind: Kind): string {
  return kind.slice(0, -1);
}

function listOf(parts: unknown): readonly unknown[] {
  if (parts === undefined) return [];
  return Array.isArray(parts) ? parts : [parts];
}

/** Every child's failure must have an unguarded handler. */
function failureProblems(machine: AnyStateMachine): readonly string[] {
  const ofInvokes = statesOf(machine).flatMap((state) =>
    state.invoke
      .filter((invoke) => !handlesFailure(withAncestors(state), invoke.id))
      .map(({ id }) => `${pathOf(state)}: a failure of invoked ${id} has no unguarded handler`),
  );
  const ofSpawns = Object.entries(machine.implementations.actions).flatMap(([name, action]) => {
    const isSpawn = fieldOf(action, 'type') === 'xstate.spawnChild';
    const id = fieldOf(action, 'id');
    // A spawned child outlives the state that spawned it: only the root is there for certain.
    const isHandled = handlesFailure([machine.root], typeof id === 'string' ? id : '*');
    return isSpawn && !isHandled
      ? [`action ${name}: a failure of the spawned child has no unguarded handler at the root`]
      : [];
  });
  return [...ofInvokes, ...ofSpawns];
}

function handlesFailure(states: readonly AnyStateNode[], id: string): boolean {
  const descriptors = ['xstate.error.actor.*', 'xstate.error.*', 'xstate.*', '*'];
  return states.some((state) =>
    [`xstate.error.actor.${id}`, ...descriptors].some((descriptor) =>
      state.transitions.get(descriptor)?.some(({ guard }) => guard === undefined),
    ),
  );
}

/** Every state in which a chart can rest must have a way out, its own or of a state around it. */
function exitProblems(machine: AnyStateMachine): readonly string[] {
  return statesOf(machine)
    .filter((state) => state.type === 'atomic' && state !== machine.root)
    .filter(
      (state) =>
        !withAncestors(state)
          .flatMap(transitionsOf)
          .some((one) => leaves(one, state)),
    )
    .map((state) => `${pathOf(state)}: no transition leads out of it, and it is not final`);
}

function leaves(transition: AnyTransitionDefinition, leaf: AnyStateNode): boolean {
  return targetsOf(transition).some((target) => target !== leaf);
}

/** A wildcard below the root would swallow what states around it handle. */
function wildcardProblems(machine: AnyStateMachine): readonly string[] {
  return statesOf(machine)
    .filter((state) => state !== machine.root && state.transitions.has('*'))
    .map((state) => `${pathOf(state)}: '*' hides the events that states around it handle`);
}

/** No transition may exit a region that it does not belong to. */
function regionProblems(machine: AnyStateMachine): readonly string[] {
  return statesOf(machine)
    .flatMap(transitionsOf)
    .flatMap((transition) => [...escapes(transition), ...resets(transition)]);
}

// When two regions answer one event and one of them exits the other, XState drops
// the other's transition without a word.
function escapes(transition: AnyTransitionDefinition): readonly string[] {
  const region = withAncestors(transition.source).find(
    (state) => state.parent?.type === 'parallel',
  );
  if (region === undefined || targetsOf(transition).length === 0) return [];
  const domain = domainOf(transition);
  if (domain !== undefined && isWithin(domain, region)) return [];
  return [
    `${transitionText(transition)}: leaves its region ${pathOf(region)}, so all regions restart`,
  ];
}

// A transition of the parallel state itself into one region exits and enters all of them.
function resets(transition: AnyTransitionDefinition): readonly string[] {
  const targets = targetsOf(transition);
  const source: AnyStateNode = transition.source;
  if (source.type !== 'parallel' || targets.length === 0) return [];
  if (!targets.every((target) => target !== source && isWithin(target, source))) return [];
  const spared = childrenOf(source).filter(
    (region) => !targets.some((target) => isWithin(target, region)),
  );
  return spared.length === 0
    ? []
    : [`${transitionText(transition)}: restarts also ${spared.map(pathOf).join(', ')}`];
}

function targetsOf(transition: AnyTransitionDefinition): readonly AnyStateNode[] {
  return transition.target ?? [];
}

/** The state whose active descendants a transition exits; undefined means the whole chart (SCXML, getTransitionDomain). */
function domainOf(transition: AnyTransitionDefinition): AnyStateNode | undefined {
  const source: AnyStateNode = transition.source;
  const targets = targetsOf(transition);
  if (!transition.reenter && targets.every((target) => isWithin(target, source))) return source;
  const [first, ...others] = [...targets, source];
  if (first === undefined) return undefined;
  return withAncestors(first)
    .slice(1)
    .find((ancestor) => others.every((state) => state !== ancestor && isWithin(state, ancestor)));
}
