/**
 * Everything we use of XState beyond its public API, and nothing else.
 *
 * Fields that begin with an underscore, a running actor's logic and the parameters of built-in
 * actions may change in any release. No other shipped file reads them, and
 * `test/machines/xstate/internals.test.ts` states what each must be, in both the development and
 * the production build.
 */

import {
  type AnyActorLogic,
  type AnyActorRef,
  type AnyActorScope,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateNode,
  type AnyTransitionDefinition,
  createActor,
  createMachine,
  type InspectionEvent,
  type StateValue,
} from 'xstate';
import { longestTimerMs } from '../../src/domain/clock.ts';

/** Returns a machine's active states, including their ancestors. */
export function activeStates(snapshot: AnyMachineSnapshot): readonly AnyStateNode[] {
  return snapshot._nodes;
}

/** Returns an actor's active states; undefined for actors without a machine. */
export function activeStatesIfAny(snapshot: unknown): readonly AnyStateNode[] | undefined {
  return (snapshot as Partial<AnyMachineSnapshot> | undefined)?._nodes;
}

/** A set of active states. */
export interface ActiveStates {
  /** In the order of XState, which decides the order of transitions in parallel states. */
  readonly nodes: readonly AnyStateNode[];
  readonly value: StateValue;
  readonly tags: ReadonlySet<string>;
}

type SnapshotFields = Pick<
  AnyMachineSnapshot,
  'machine' | 'context' | 'children' | 'historyValue'
> & {
  readonly status: AnyMachineSnapshot['status'];
  readonly output?: unknown;
  readonly error?: unknown;
};

const { matches, hasTag, can, getMeta, toJSON } = createActor(createMachine({})).getSnapshot();

/** Returns a snapshot with other states. All snapshots have the same fields in the same order. */
export function snapshotOf(
  from: SnapshotFields,
  { nodes, value, tags }: ActiveStates,
): AnyMachineSnapshot {
  const { status, output, error, machine, context, children, historyValue } = from;
  const snapshot = {
    status,
    output,
    error,
    machine,
    context,
    _nodes: nodes,
    value,
    tags,
    children,
    historyValue,
    matches,
    hasTag,
    can,
    getMeta,
    toJSON,
  };
  return snapshot as AnyMachineSnapshot;
}

/** Returns a snapshot without active states, so that XState does not recompute its value. */
export function withoutStates(snapshot: AnyMachineSnapshot): AnyMachineSnapshot {
  return { ...snapshot, _nodes: [] };
}

type Microstep = Extract<InspectionEvent, { readonly type: '@xstate.microstep' }>;

/** Returns the transitions that one microstep took; none if no state handled the event. */
export function transitionsOfStep(
  step: Pick<Microstep, '_transitions'>,
): readonly AnyTransitionDefinition[] {
  return step._transitions;
}

/** Returns an actor's parent; undefined for the root. */
export function parentOf(ref: AnyActorRef): AnyActorRef | undefined {
  return ref._parent;
}

/** Returns the id of the machine that an actor runs; undefined for other actors. */
export function machineIdOf(ref: AnyActorRef): unknown {
  return (ref as unknown as { readonly logic: { readonly id?: unknown } }).logic.id;
}

/** A delayed event that an actor has scheduled for itself or for another. */
export interface ScheduledEvent {
  readonly id: string;
  readonly event: AnyEventObject;
  readonly delay: number;
  /** Wall-clock milliseconds. */
  readonly startedAt: number;
}

type Timers = Map<AnyActorRef, Map<string, ScheduledEvent & { readonly timer: unknown }>>;

const timersOf = new WeakMap<object, Timers>();

interface TimerClock {
  setTimeout(callback: () => void, delayMs: number): unknown;
  clearTimeout(timer: unknown): void;
  wallNow(): number;
}

/**
 * Makes a system find an actor's timers at once. XState's own scheduler looks through the timers of
 * all actors whenever one of them ends.
 */
export function indexTimers({ system }: AnyActorRef, clock: TimerClock): void {
  const timers: Timers = new Map();
  let count = 0;
  timersOf.set(system, timers);
  const forget = (source: AnyActorRef, id: string): unknown => {
    const own = timers.get(source);
    const timer = own?.get(id)?.timer;
    own?.delete(id);
    if (own?.size === 0) timers.delete(source);
    return timer;
  };
  const cancel = (source: AnyActorRef, id: string): void => {
    const timer = forget(source, id);
    if (timer !== undefined) clock.clearTimeout(timer);
  };
  const scheduler: Scheduler = {
    schedule(source, target, event, delay, id = `timer ${(count += 1)}`) {
      const fire = () => {
        forget(source, id);
        systemOf({ system })._relay(source, target, event);
      };
      // A chart uses the longest delay for "no timer": each open session has two or three of them.
      const timer = delay < longestTimerMs ? clock.setTimeout(fire, delay) : undefined;
      const own = timers.get(source) ?? new Map<string, ScheduledEvent & { timer: unknown }>();
      timers.set(source, own.set(id, { id, event, delay, startedAt: clock.wallNow(), timer }));
    },
    cancel,
    cancelAll(source) {
      for (const id of [...(timers.get(source)?.keys() ?? [])]) cancel(source, id);
    },
  };
  Object.assign(system, { scheduler });
}

const spentOptions = Object.freeze({});

type Scheduler = AnyActorRef['system']['scheduler'];

/**
 * Calls back with the inspection events of a system from now on, ahead of its inspectors. An inspector
 * instead gets a copy of each event, and the start of a hundred servers has thousands.
 *
 * An actor that starts from then on has no options afterwards, because those of thousands take a tenth
 * of their memory. It reads them, and the input among them, no later than for the event of its start.
 */
export function observeSystem(
  { system }: AnyActorRef,
  callback: (event: UnrootedEvent) => void,
): void {
  const { _sendInspectionEvent: inform } = systemOf({ system });
  const observed = (event: InspectionEvent): void => {
    callback(event);
    inform(event);
    if (event.type === '@xstate.event' && event.event.type === 'xstate.init')
      Object.assign(event.actorRef, { options: spentOptions });
  };
  Object.assign(system, { _sendInspectionEvent: observed });
}

type Unrooted<Event> = Event extends unknown ? Omit<Event, 'rootId'> : never;

/** An inspection event to which XState has not added its root. */
export type UnrootedEvent = Unrooted<InspectionEvent>;

export function scheduledBy(ref: AnyActorRef): readonly ScheduledEvent[] {
  const timers = timersOf.get(ref.system);
  if (timers !== undefined) return [...(timers.get(ref)?.values() ?? [])];
  return Object.values(ref.system.getSnapshot()._scheduledEvents).filter(
    ({ source }) => (source as AnyActorRef) === ref,
  );
}

/** Target of an event that an effect sends to the parent. */
export const parentTargetId = '#_parent';

interface ChildToSpawn {
  readonly id: string;
  readonly input: unknown;
}

/**
 * Creates an action that spawns children into the chart's context rather than into `children`,
 * which XState copies whenever one of them is spawned or stopped: with thousands, each such copy is
 * slow, and stopping all of them takes quadratic time.
 *
 * Otherwise they behave like children of XState's `spawn`: they start after the transition that
 * spawned them, and their parent gets their events, their end and their errors. The chart itself
 * stops those that are left when it ends.
 *
 * @param src - the name of the children's logic in the chart's setup
 * @param keep - returns the action that puts the refs into the context
 */
export function spawnApart(
  src: string,
  children: readonly ChildToSpawn[],
  keep: (refs: readonly AnyActorRef[]) => object,
): () => void {
  const resolve = ({ self }: AnyActorScope, snapshot: AnyMachineSnapshot) => {
    const logic = snapshot.machine.implementations.actors[src] as AnyActorLogic;
    const refs = children.map(({ id, input }) =>
      createActor(logic, { id, input, src, parent: self }),
    );
    return [snapshot, refs, [keep(refs)]];
  };
  const execute = ({ defer }: AnyActorScope, refs: readonly AnyActorRef[]): void =>
    defer(() => {
      for (const ref of refs) ref.start();
    });
  // XState's own actions are such functions.
  return Object.assign(() => {}, { type: 'xstate.spawnApart', resolve, execute });
}

/** The implementation of one of XState's own actions. */
export interface BuiltIn {
  readonly type: string;
  /** Set for `assign` only. */
  readonly assignment?: unknown;
  readonly resolve: (
    ...args: readonly [
      scope: AnyActorScope,
      snapshot: AnyMachineSnapshot,
      info: object,
      params: unknown,
      action: BuiltIn,
      extra: object,
    ]
  ) => readonly [AnyMachineSnapshot, unknown, AnyTransitionDefinition['actions'] | undefined];
  /** Called with the result of `resolve` once the actions that follow are resolved. */
  readonly retryResolve?: (
    scope: AnyActorScope,
    snapshot: AnyMachineSnapshot,
    params: unknown,
  ) => void;
  readonly execute?: (scope: AnyActorScope, params: unknown) => void;
}

export function isBuiltIn(action: unknown): action is BuiltIn {
  return typeof action === 'function' && 'resolve' in action;
}

/** Reports a microstep to inspectors. */
export function reportMicrostep(
  scope: AnyActorScope,
  event: AnyEventObject,
  snapshot: AnyMachineSnapshot,
  transitions: readonly AnyTransitionDefinition[],
): void {
  systemOf(scope)._sendInspectionEvent({
    type: '@xstate.microstep',
    actorRef: scope.self,
    event,
    snapshot,
    _transitions: transitions as AnyTransitionDefinition[],
  });
}

/** The parts of a system that the public type hides. */
function systemOf({ system }: Pick<AnyActorScope, 'system'>) {
  return system as unknown as {
    readonly _sendInspectionEvent: (event: UnrootedEvent) => void;
    readonly _relay: (source: AnyActorRef, target: AnyActorRef, event: AnyEventObject) => void;
  };
}

/** One of XState's own actions, as inspection and {@link Effect} show it. */
export type BuiltInAction =
  | {
      readonly type: 'xstate.raise';
      /** With a delay it is a timer, otherwise an event to itself. */
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
  /** The child to stop; undefined if it does not exist. */
  | { readonly type: 'xstate.stopChild'; readonly params: AnyActorRef | undefined };

/** Narrows an action to a built-in one with typed parameters; undefined for a chart's own action. */
export function builtInAction(action: Effect): BuiltInAction | undefined {
  return action.type.startsWith('xstate.') ? (action as BuiltInAction) : undefined;
}

/** An action that a transition would have executed. */
export interface Effect {
  /** The action's name; built-in ones begin with `xstate.`. */
  readonly type: string;
  /** Its parameters, as the chart computed them. */
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
 * Nothing is executed, deferred, scheduled or started. Children are created, so that `children` and
 * `sendTo` by name are right, but never started. The chart sees a parent that ignores everything,
 * under every system id too, so that `sendParent` works.
 */
export interface InertScope {
  readonly scope: AnyActorScope;
  /** Filled by each transition; the caller empties it. */
  readonly observed: Observed;
  /** Sets what `self.getSnapshot()` returns during the next transition. */
  begin(snapshot: AnyMachineSnapshot | undefined): void;
}

/**
 * Creates an inert scope in which charts are computed.
 *
 * XState's own `transition()` creates an actor for each call, which makes it seven times slower
 * (its issue #4774).
 */
export function createInertScope(): InertScope {
  const idle = createActor(createMachine({}));
  const observed: Observed = { effects: [], transitions: [] };
  let current: AnyMachineSnapshot | undefined;

  const system: AnyActorRef['system'] = override(idle.system, {
    // Otherwise, branches of a search would collide in the registry of system ids.
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

// Returns an object that equals the given one except for some fields, and keeps its class.
function override<Target extends object>(target: Target, fields: object): Target {
  const entries = Object.entries(fields).map(([name, value]) => [name, { value, writable: true }]);
  // `Object.create` is untyped; the result has everything that its prototype has.
  return Object.create(target, Object.fromEntries(entries)) as Target;
}
