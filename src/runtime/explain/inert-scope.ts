import {
  type AnyActorRef,
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyTransitionDefinition,
  createActor,
  createMachine,
} from 'xstate';

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
 * A place where a chart can be computed without anything happening.
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
  /** Tells what `self.getSnapshot()` answers during the next transition. */
  begin(snapshot: AnyMachineSnapshot | undefined): void;
}

/**
 * Makes an inert scope to compute charts in.
 *
 * XState's own `transition()` builds an actor for each call, which makes it seven
 * times slower (its issue #4774). The fields that begin with an underscore are not
 * public API: `test/testing/explore.test.ts` tells when a new version changes them.
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
    _sendInspectionEvent: (event: { type: string; _transitions?: AnyTransitionDefinition[] }) => {
      if (event.type === '@xstate.microstep')
        observed.transitions.push(...(event._transitions ?? []));
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
