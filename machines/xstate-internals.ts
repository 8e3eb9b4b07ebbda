/**
 * Everything that is used of XState beyond its public API, and nothing else.
 *
 * Fields that begin with an underscore, the logic of a running actor and the
 * parameters of built-in actions may change in any release. No other shipped file
 * reads them, and `test/machines/xstate-internals.test.ts` states what each must
 * be, in the development build and in the production build.
 */

import {
  type AnyActorRef,
  type AnyActorScope,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateNode,
  type AnyTransitionDefinition,
  createActor,
  createMachine,
  type InspectionEvent,
} from 'xstate';

/** Active states of a machine, their ancestors included. */
export function activeStates(snapshot: AnyMachineSnapshot): readonly AnyStateNode[] {
  return snapshot._nodes;
}

/** Returns an actor's active states; undefined for actors without a machine. */
export function activeStatesIfAny(snapshot: unknown): readonly AnyStateNode[] | undefined {
  return (snapshot as Partial<AnyMachineSnapshot> | undefined)?._nodes;
}

type Microstep = Extract<InspectionEvent, { readonly type: '@xstate.microstep' }>;

/** Transitions that one microstep took; none when no state answered the event. */
export function transitionsOfStep(step: Microstep): readonly AnyTransitionDefinition[] {
  return step._transitions;
}

/** Undefined for the root. */
export function parentOf(ref: AnyActorRef): AnyActorRef | undefined {
  return ref._parent;
}

/** Id of the machine that an actor runs; undefined for other actors. */
export function machineIdOf(ref: AnyActorRef): unknown {
  return (ref as unknown as { readonly logic: { readonly id?: unknown } }).logic.id;
}

/** A delayed event that an actor has scheduled for itself or for another. */
export interface ScheduledEvent {
  readonly id: string;
  readonly event: AnyEventObject;
  readonly delay: number;
  /** Wall-clock milliseconds, whatever clock the system has. */
  readonly startedAt: number;
}

export function scheduledBy(ref: AnyActorRef): readonly ScheduledEvent[] {
  return Object.values(ref.system.getSnapshot()._scheduledEvents).filter(
    ({ source }) => (source as AnyActorRef) === ref,
  );
}

/** Target of an event that an effect sends to the parent. */
export const parentTargetId = '#_parent';

/** An action of XState's own, as inspection and {@link Effect} show it. */
export type BuiltInAction =
  | {
      readonly type: 'xstate.raise';
      /** With a delay it is a timer, else an event to itself. */
      readonly params: {
        readonly event: AnyEventObject;
        readonly id?: string | undefined;
        readonly delay?: number | undefined;
      };
    }
  | { readonly type: 'xstate.cancel'; readonly params: { readonly sendId: string } }
  | {
      readonly type: 'xstate.sendTo';
      readonly params: { readonly event: AnyEventObject; readonly targetId?: string | undefined };
    }
  | { readonly type: 'xstate.emit'; readonly params: { readonly event: AnyEventObject } }
  /** Without an actor when there is no such child. */
  | { readonly type: 'xstate.stopChild'; readonly params: AnyActorRef | undefined };

/** The same action with the types of its parameters; undefined for an action of a chart. */
export function builtInAction(action: Effect): BuiltInAction | undefined {
  return action.type.startsWith('xstate.') ? (action as BuiltInAction) : undefined;
}

/** One action that a transition would have executed. */
export interface Effect {
  /** Name of the action; the built-in ones begin with `xstate.`. */
  readonly type: string;
  readonly params: unknown;
}

/** What one transition did besides changing the snapshot. */
export interface Observed {
  readonly effects: Effect[];
  readonly transitions: AnyTransitionDefinition[];
}

/**
 * A scope in which a chart can be computed without side effects.
 *
 * Nothing is executed, deferred, scheduled or started. Children are created, so
 * that `children` and `sendTo` by name are right, but never started. The chart
 * sees a parent that ignores everything, also under every system id, so that
 * `sendParent` works.
 */
export interface InertScope {
  readonly scope: AnyActorScope;
  /** Filled by each transition; the caller empties it. */
  readonly observed: Observed;
  /** Sets what `self.getSnapshot()` returns during the next transition. */
  begin(snapshot: AnyMachineSnapshot | undefined): void;
}

/**
 * Makes an inert scope to compute charts in.
 *
 * XState's own `transition()` builds an actor for each call, which makes it seven
 * times slower (its issue #4774).
 */
export function createInertScope(): InertScope {
  const idle = createActor(createMachine({}));
  const observed: Observed = { effects: [], transitions: [] };
  let current: AnyMachineSnapshot | undefined;

  const system: AnyActorRef['system'] = override(idle.system, {
    // Branches of a search would otherwise collide in the registry of system ids.
    _set: ignore,
    _unregister: ignore,
    _relay: ignore,
    get: () => parent,
    scheduler: { schedule: ignore, cancel: ignore, cancelAll: ignore },
    _sendInspectionEvent: (event: InspectionEvent) => {
      if (event.type === '@xstate.microstep')
        observed.transitions.push(...transitionsOfStep(event));
    },
  });
  const parent = override(idle, { id: 'parent', send: ignore, _send: ignore });
  const self = override(idle, {
    system,
    id: 'self',
    _parent: parent,
    send: ignore,
    _send: ignore,
    getSnapshot: () => current,
  });

  const scope: AnyActorScope = {
    self,
    system,
    id: 'self',
    sessionId: 'self',
    logger: ignore,
    defer: ignore,
    emit: ignore,
    stopChild: ignore,
    actionExecutor: ({ type, params }) => {
      observed.effects.push({ type, params });
    },
  };
  return { scope, observed, begin: (snapshot) => void (current = snapshot) };
}

function ignore(): void {}

// An object that is the given one but for some fields, so that its class stays.
function override<Target extends object>(target: Target, fields: object): Target {
  const entries = Object.entries(fields).map(([name, value]) => [name, { value, writable: true }]);
  // `Object.create` is untyped; the result has everything that its prototype has.
  return Object.create(target, Object.fromEntries(entries)) as Target;
}
