import type {
  AnyEventObject,
  AnyMachineSnapshot,
  AnyStateMachine,
  EventFrom,
  EventObject,
  SnapshotFrom,
} from 'xstate';
import { activeStates } from '../../machines/xstate-internals.ts';
import { fieldOf } from './chart-parts.ts';

/** Payload variants of one event type: a list, or what makes one for a snapshot. */
export type EventChoice<Machine extends AnyStateMachine, Event extends EventObject> =
  | readonly Event[]
  | ((snapshot: SnapshotFrom<Machine>) => readonly Event[]);

/**
 * Payload variants by event type, fixed or made for a snapshot.
 *
 * A type that is not listed is sent bare, `{ type }`; an empty list means never.
 */
export type EventChoices<Machine extends AnyStateMachine> = {
  readonly [Type in EventFrom<Machine>['type']]?: EventChoice<Machine, EventFrom<Machine>>;
} & {
  readonly [internal: `xstate.${string}`]: EventChoice<Machine, AnyEventObject>;
};

/** Lists the events that may come from outside while the chart is in a snapshot. */
export type Alphabet = (snapshot: AnyMachineSnapshot) => readonly EventObject[];

/**
 * Makes the alphabet of a chart: every event that an active state mentions.
 *
 * Timers of active states may always fire. Done and error events of a child come
 * only while that child exists. What the chart raises itself is not sent, unless
 * there is a choice for it: raising happens inside the transition.
 */
export function alphabetOf(
  machine: AnyStateMachine,
  choices: EventChoices<AnyStateMachine>,
  internal: readonly string[],
): Alphabet {
  const chosen = new Map<string, EventChoice<AnyStateMachine, EventObject> | undefined>(
    Object.entries(choices),
  );
  const neverSent = new Set([...raisedTypes(machine), ...internal]);

  const variants = (type: string, snapshot: AnyMachineSnapshot): readonly EventObject[] => {
    const choice = chosen.get(type);
    if (typeof choice === 'function') return choice(snapshot);
    if (choice !== undefined) return choice;
    if (neverSent.has(type) || isSilent(type)) return [];
    return [bareEvent(type)];
  };

  return (snapshot) => {
    const types = new Set<string>();
    for (const state of activeStates(snapshot)) {
      for (const descriptor of state.transitions.keys()) {
        for (const type of namedBy(descriptor, snapshot, chosen)) types.add(type);
      }
    }
    return [...types].flatMap((type) => variants(type, snapshot));
  };
}

// `done.state` is raised by the chart itself; the others need a payload that only a choice has.
function isSilent(type: string): boolean {
  return /^xstate\.(?!after\.|done\.actor\.|error\.actor\.)/.test(type);
}

function bareEvent(type: string): EventObject {
  const [, kind, actorId] = /^xstate\.(done|error)\.actor\.(.*)$/.exec(type) ?? [];
  if (kind === 'done') return withFields(type, { actorId, output: undefined });
  if (kind === 'error') return withFields(type, { actorId, error: new Error(`${actorId} failed`) });
  return { type };
}

function withFields(type: string, fields: object): EventObject {
  return { type, ...fields };
}

function namedBy(
  descriptor: string,
  snapshot: AnyMachineSnapshot,
  chosen: ReadonlyMap<string, unknown>,
): readonly string[] {
  const prefix = /^xstate\.(done|error)\.actor\./.exec(descriptor)?.[0];
  if (prefix !== undefined) {
    const childIds = Object.keys(snapshot.children);
    const wanted = descriptor.slice(prefix.length);
    return childIds.filter((id) => wanted === '*' || wanted === id).map((id) => prefix + id);
  }
  if (!descriptor.endsWith('*')) return [descriptor];
  const start = descriptor.slice(0, -1);
  return [...chosen.keys()].filter((type) => type.startsWith(start));
}

// Raises inside `enqueueActions` are known only at run time; callers name those as internal.
function raisedTypes(machine: AnyStateMachine): readonly string[] {
  return Object.values(machine.implementations.actions).flatMap((action) => {
    if (fieldOf(action, 'type') !== 'xstate.raise') return [];
    const type = fieldOf(fieldOf(action, 'event'), 'type');
    return typeof type === 'string' ? [type] : [];
  });
}
