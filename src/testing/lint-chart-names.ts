import type { AnyStateMachine, AnyStateNode } from 'xstate';
import {
  fieldOf,
  guardParts,
  nameOf,
  pathOf,
  statesOf,
  transitionsOf,
  transitionText,
} from './chart-parts.ts';

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
export function nameProblems(machine: AnyStateMachine): readonly string[] {
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
