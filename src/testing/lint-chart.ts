import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import {
  childrenOf,
  fieldOf,
  guardParts,
  isWithin,
  nameOf,
  pathOf,
  statesOf,
  targetsOf,
  transitionsOf,
  transitionText,
  withAncestors,
} from './chart-parts.ts';

/** Further requirements for a chart, and problems to accept. */
export interface LintOptions {
  /** Requires the option that makes an endless loop of microsteps an error. Default: false. */
  readonly needsMaxIterations?: boolean;
  /** Texts of problems that are intended; a text that does not occur is itself a problem. */
  readonly accepted?: readonly string[];
}

/**
 * Lists mistakes in a chart's definition, one sentence for each.
 *
 * XState accepts all of them and misbehaves at run time: an undeclared delay fires at once, a
 * missing action is skipped, a missing guard or an unhandled child error ends the actor, and when
 * one region exits another, the other's transition is dropped silently.
 */
export function lintChart(machine: AnyStateMachine, options: LintOptions = {}): readonly string[] {
  const accepted = new Set(options.accepted);
  const problems = [
    ...nameProblems(machine),
    ...failureProblems(machine),
    ...exitProblems(machine),
    ...wildcardProblems(machine),
    ...regionProblems(machine),
    ...(options.needsMaxIterations === true && !Number.isFinite(machine.options?.maxIterations)
      ? [`${machine.id}: options.maxIterations is not set`]
      : []),
  ];
  const unused = [...accepted].filter((text) => !problems.includes(text));
  return [
    ...new Set(problems.filter((text) => !accepted.has(text))),
    ...unused.map((text) => `accepted, but does not occur: ${text}`),
  ];
}

// Real timers hold a signed 32-bit number; longer delays fire at once.
const longestDelayMs = 2 ** 31 - 1;

type Kind = 'actions' | 'guards' | 'actors' | 'delays';

interface Reference {
  readonly kind: Kind;
  readonly part: unknown;
  /** Where the chart refers to it; a problem begins with this. */
  readonly place: string;
}

/** A chart refers to its parts by name only, and every name is implemented. */
function nameProblems(machine: AnyStateMachine): readonly string[] {
  return [
    ...statesOf(machine)
      .flatMap(referencesOfState)
      .concat(referencesOfImplementations(machine))
      .flatMap((reference) => problemsOf(reference, machine)),
    ...Object.entries(machine.implementations.delays).flatMap(([name, delay]) =>
      delayProblems(`delay ${name}`, delay),
    ),
  ];
}

function problemsOf({ kind, part, place }: Reference, machine: AnyStateMachine): readonly string[] {
  const singular = kind.slice(0, -1);
  if (kind === 'delays') {
    if (typeof part !== 'string') return delayProblems(place, part);
  } else if (kind === 'guards' && guardParts(part).length > 0) {
    return guardParts(part).flatMap((inner) => problemsOf({ kind, part: inner, place }, machine));
  } else if (kind === 'guards' && fieldOf(part, 'stateValue') !== undefined) {
    return [];
  } else if (
    typeof part === 'function' ||
    (kind === 'actors' && String(part).startsWith('xstate.invoke.'))
  ) {
    return [`${place}: inline ${singular}; give it a name in setup`];
  }
  const name = nameOf(part) ?? '(nameless)';
  const implemented = machine.implementations[kind];
  return Object.hasOwn(implemented, name) && implemented[name] !== undefined
    ? []
    : [`${place}: ${singular} ${name} is not implemented`];
}

function referencesOfState(state: AnyStateNode): readonly Reference[] {
  const path = pathOf(state);
  // The entry and exit lists of a state node also hold actions that XState adds for delays.
  return [
    ...references('actions', listOf(state.config.entry), `${path}, entry`),
    ...references('actions', listOf(state.config.exit), `${path}, exit`),
    ...(state.type === 'compound'
      ? references('actions', state.initial.actions, `${path}, initial`)
      : []),
    ...references(
      'actors',
      state.invoke.map(({ src }) => src),
      `${path}, invoke`,
    ),
    ...transitionsOf(state).flatMap((transition): readonly Reference[] => {
      const place = transitionText(transition);
      return [
        ...references('actions', transition.actions, place),
        ...references('guards', listOf(transition.guard), place),
        ...references('delays', listOf(fieldOf(transition, 'delay')), place),
      ];
    }),
  ];
}

function references(kind: Kind, parts: readonly unknown[], place: string): readonly Reference[] {
  return parts.map((part) => ({ kind, part, place }));
}

// Named implementations with built-in actions and guards refer to further names.
function referencesOfImplementations({ implementations }: AnyStateMachine): readonly Reference[] {
  const ofActions = Object.entries(implementations.actions).flatMap(([name, action]) => {
    const [delay, src] = [fieldOf(action, 'delay'), fieldOf(action, 'src')];
    const place = `action ${name}`;
    return [
      ...references('delays', typeof delay === 'function' ? [] : listOf(delay), place),
      ...references('actors', typeof src === 'string' ? [src] : [], place),
    ];
  });
  const ofGuards = Object.entries(implementations.guards).flatMap(([name, guard]) =>
    references(
      'guards',
      guardParts(guard).filter((part) => typeof part !== 'function' || guardParts(part).length > 0),
      `guard ${name}`,
    ),
  );
  return [...ofActions, ...ofGuards];
}

function delayProblems(place: string, delay: unknown): readonly string[] {
  if (typeof delay !== 'number') return [];
  return delay > longestDelayMs ? [`${place}: ${delay} ms is longer than timers can hold`] : [];
}

function listOf(parts: unknown): readonly unknown[] {
  if (parts === undefined) return [];
  return Array.isArray(parts) ? parts : [parts];
}

/** Every child's failure has a handler without a guard. */
function failureProblems(machine: AnyStateMachine): readonly string[] {
  const ofInvokes = statesOf(machine).flatMap((state) =>
    state.invoke
      .filter((invoke) => !handlesFailure(withAncestors(state), invoke.id))
      .map(({ id }) => `${pathOf(state)}: a failure of invoked ${id} has no unguarded handler`),
  );
  const ofSpawns = Object.entries(machine.implementations.actions).flatMap(([name, action]) => {
    const isSpawn = fieldOf(action, 'type') === 'xstate.spawnChild';
    const id = fieldOf(action, 'id');
    // A spawned child outlives the state that spawned it; only the root is certain to be active.
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

/** A transition leads out of every state that is not final, either its own or an ancestor's. */
function exitProblems(machine: AnyStateMachine): readonly string[] {
  return statesOf(machine)
    .filter((state) => state.type === 'atomic' && state !== machine.root)
    .filter((state) => {
      const targets = withAncestors(state).flatMap(transitionsOf).flatMap(targetsOf);
      return targets.every((target) => target === state);
    })
    .map((state) => `${pathOf(state)}: no transition leads out of it, and it is not final`);
}

/** A wildcard below the root hides events from the handlers of its ancestors. */
function wildcardProblems(machine: AnyStateMachine): readonly string[] {
  return statesOf(machine)
    .filter((state) => state !== machine.root && state.transitions.has('*'))
    .map((state) => `${pathOf(state)}: '*' hides the events that states around it handle`);
}

/** No transition exits a region that it does not belong to. */
function regionProblems(machine: AnyStateMachine): readonly string[] {
  return statesOf(machine)
    .flatMap(transitionsOf)
    .flatMap((transition) => [...escapes(transition), ...resets(transition)]);
}

// When two regions handle one event and one of them exits the other, XState silently drops the
// other's transition.
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

// A transition from the parallel state itself into one region exits and enters all regions.
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
