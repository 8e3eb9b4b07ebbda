/**
 * Everything we use of XState beyond its public API, and nothing else.
 *
 * Fields that begin with an underscore, a running actor's logic and the parameters of built-in
 * actions may change in any release. No other shipped file reads them, and
 * `test/machines/xstate-internals.test.ts` states what each must be, in both the development and
 * the production build.
 */

import {
  type AnyActorLogic,
  type AnyActorRef,
  type AnyActorScope,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  createActor,
  createMachine,
  type InputFrom,
  type InspectionEvent,
  raise,
  sendTo,
} from 'xstate';
import { longestTimerMs } from '../src/domain/clock.ts';

/** Returns a machine's active states, including their ancestors. */
export function activeStates(snapshot: AnyMachineSnapshot): readonly AnyStateNode[] {
  return snapshot._nodes;
}

/** Returns an actor's active states; undefined for actors without a machine. */
export function activeStatesIfAny(snapshot: unknown): readonly AnyStateNode[] | undefined {
  return (snapshot as Partial<AnyMachineSnapshot> | undefined)?._nodes;
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

/** Which inputs start alike, and what belongs to each actor. */
export interface StartShape<Input> {
  /** Inputs with the same object and text start alike, except for their own fields. */
  readonly keyOf: (input: Input) => readonly [shared: object, text: string];
  /**
   * The context's fields that belong to each actor and that no start depends on. What a start sends
   * to the parent has them under the same names.
   */
  readonly ownOf: (input: Input) => object;
}

interface Start {
  readonly snapshot: AnyMachineSnapshot;
  readonly steps: readonly Microstep[];
  /** The events for the chart itself and its parent, and the timers. */
  readonly effects: readonly Effect[];
}

type Execute = (scope: AnyActorScope, params: unknown) => void;
const executeOf = (action: object): Execute => (action as { readonly execute: Execute }).execute;
/** What XState does for the actions that a copied start may contain. */
const executions: Readonly<Record<'xstate.raise' | 'xstate.sendTo', Execute>> = {
  'xstate.raise': executeOf(raise({ type: '' })),
  'xstate.sendTo': executeOf(sendTo('', { type: '' })),
};

/**
 * Makes a chart compute its initial snapshot once for each shape of input, and copy it for other
 * actors. A start that does more than enter states, assign, raise and tell its parent is never copied.
 * Inspection sees the same steps either way.
 */
export function sharingStarts<Machine extends AnyStateMachine>(
  machine: Machine,
  { keyOf, ownOf }: StartShape<InputFrom<Machine>>,
): Machine {
  const starts = new WeakMap<object, Map<string, Start | null>>();
  const getInitialSnapshot = (scope: AnyActorScope, input: InputFrom<Machine>) => {
    const [shared, text] = keyOf(input);
    const known = starts.get(shared) ?? new Map<string, Start | null>();
    starts.set(shared, known);
    const start = known.get(text);
    if (start === undefined) {
      const { start: first, snapshot } = watchedStart(machine, scope, input);
      known.set(text, first);
      return snapshot;
    }
    if (start === null) return machine.getInitialSnapshot(scope, input);
    const own = ownOf(input);
    const context = { ...(start.snapshot.context as object), ...own };
    const snapshot = { ...start.snapshot, context } as AnyMachineSnapshot;
    for (const step of start.steps) {
      const event = { ...step.event, input };
      systemOf(scope)._sendInspectionEvent({ ...step, actorRef: scope.self, event, snapshot });
    }
    for (const effect of start.effects) repeat(effect, scope, own);
    return snapshot;
  };
  return Object.create(machine, { getInitialSnapshot: { value: getInitialSnapshot } }) as Machine;
}

function systemOf({ system }: Pick<AnyActorScope, 'system'>) {
  // The public type hides how events are sent.
  return system as unknown as {
    readonly _sendInspectionEvent: (event: InspectionEvent) => void;
    readonly _relay: (source: AnyActorRef, target: AnyActorRef, event: AnyEventObject) => void;
  };
}

/** Executes an action of another actor's start for this one. */
function repeat({ type, params }: Effect, scope: AnyActorScope, own: object): void {
  const { event } = params as { readonly event: AnyEventObject };
  const changed = Object.entries(own).filter(([name]) => name in event);
  const its = {
    ...(params as object),
    event: { ...event, ...Object.fromEntries(changed) },
    ...(type === 'xstate.sendTo' && { to: parentOf(scope.self) }),
  };
  const execute = executions[type as keyof typeof executions];
  const exec = () => execute(scope, its);
  scope.actionExecutor({ type, params: its, info: undefined as never, exec });
}

/** Computes an initial snapshot. Without a start, the snapshot must not be copied. */
function watchedStart(machine: AnyStateMachine, scope: AnyActorScope, input: unknown) {
  const steps: Microstep[] = [];
  const effects: Effect[] = [];
  let isPlain = true;
  const watched: AnyActorScope = {
    ...scope,
    defer: (effect) => {
      isPlain = false;
      scope.defer(effect);
    },
    actionExecutor: (action) => {
      const { type, params } = action as Effect;
      const builtIn = builtInAction({ type, params });
      const isTold =
        builtIn?.type === 'xstate.sendTo' && builtIn.params.targetId === parentTargetId;
      if (builtIn?.type === 'xstate.raise' || isTold) effects.push({ type, params });
      else isPlain = false;
      scope.actionExecutor(action);
    },
    system: override(scope.system, {
      _sendInspectionEvent: (event: InspectionEvent) => {
        // Computing a snapshot reports nothing else.
        steps.push(event as Microstep);
        systemOf(scope)._sendInspectionEvent(event);
      },
    }),
  };
  const snapshot: AnyMachineSnapshot = machine.getInitialSnapshot(watched, input);
  const start = isPlain && snapshot.status === 'active' ? { snapshot, steps, effects } : null;
  return { snapshot, start };
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
