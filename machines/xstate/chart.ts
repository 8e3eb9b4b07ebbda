/**
 * Computes a chart's transitions from cached steps, with the results of XState's own algorithm.
 *
 * What a microstep exits, enters and executes depends only on the active states and the chosen
 * transitions, and a chart meets few such pairs. XState computes it at each microstep, and the whole
 * state value at each `assign`; here both are computed once. Actors, built-in actions and inspection
 * are XState's own. `test/machines/xstate/` compares both implementations.
 */

import {
  type AnyActorRef,
  type AnyActorScope,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  StateMachine,
  stopChild,
} from 'xstate';
import { type Macrostep, passes, refuseSpawn, runActions, type UpdateContext } from './actions.ts';
import { type ActiveStates, activeStates, reportMicrostep, snapshotOf } from './internals.ts';
import {
  type Action,
  type Choice,
  choiceOf,
  type Entry,
  enteredBy,
  entryOf,
  eventlessOf,
  exitActionsOf,
  exitedBy,
  lastFirst,
  type Transition,
  valueOf,
  withoutConflicts,
} from './steps.ts';

/** A set of active states, with its cached data. */
interface Configuration extends ActiveStates {
  /** By type of event. */
  readonly choices: Map<string, Choice | undefined>;
  readonly eventless: readonly (readonly Transition[])[];
  /** By the numbers of the chosen transitions. */
  readonly steps: Map<string, Step>;
}

/** What a microstep does. */
interface Step {
  /** The chosen transitions that do not conflict. */
  readonly transitions: readonly Transition[];
  /** Exit actions, then the actions of the transitions. */
  readonly actions: readonly Action[];
  readonly entries: readonly Entry[];
  /** Exit actions of all states, if the chart completes. */
  readonly last: readonly Action[];
  /** Undefined if the same states are active afterwards. */
  readonly next: Configuration | undefined;
}

/** Event types cached per configuration; no chart declares this many. */
const mostChoices = 500;

/**
 * Makes a chart compute its transitions from cached steps. `provide` on the result returns a chart that
 * is not compiled.
 *
 * Not supported: history states, actions of an initial transition and output of a final state below the
 * root, which throw here, and `spawn` in an assignment, which throws when it is used.
 *
 * @param actors - implementations, as for XState's `provide`, which would build all states again. Default: the
 *   machine's
 * @param update - copies a context; one of the chart's own is much faster than one that charts share,
 *   because V8 can specialize it for one object shape
 */
export function compiled<Machine extends AnyStateMachine>(
  source: Machine,
  actors: Actors<Machine> = {},
  update: UpdateContext = (context, changed) => ({ ...context, ...changed }),
): Machine {
  const implementations = {
    ...source.implementations,
    actors: { ...source.implementations.actors, ...actors },
  };
  // Keeps the class and the other methods; `Object.create` is untyped.
  const machine = Object.create(source, { implementations: { value: implementations } }) as Machine;
  const chart = new CompiledChart(machine, update);
  return Object.assign(machine, {
    transition: chart.transition.bind(chart),
    getInitialSnapshot: chart.initialSnapshot.bind(chart),
    // XState binds it to the source, which has other actors.
    restoreSnapshot: StateMachine.prototype.restoreSnapshot.bind(machine),
  });
}

type Actors<Machine extends AnyStateMachine> = NonNullable<
  Parameters<Machine['provide']>[0]['actors']
>;

class CompiledChart {
  readonly #machine: AnyStateMachine;
  readonly #byKey = new Map<string, Configuration>();
  readonly #byNodes = new WeakMap<readonly AnyStateNode[], Configuration>();
  readonly #numbers = new Map<Transition, number>();
  readonly #blank: AnyMachineSnapshot;
  readonly #createContext: (args: object) => object;
  readonly #start: Step;
  readonly #mostSteps: number;
  readonly #update: UpdateContext;

  constructor(machine: AnyStateMachine, update: UpdateContext) {
    this.#machine = machine;
    this.#update = update;
    const { root, config } = machine;
    refuseUnsupported(root);
    this.#mostSteps = Number(machine.options.maxIterations);
    const start = { source: root, target: [root], reenter: true, actions: [] as Action[] };
    const first = [start as unknown as Transition];
    // XState already reports the full initial value here, before entering any state.
    const nowhere = { ...this.#configurationOf([root]), value: valueOf(root, enteredBy(first)) };
    const { context = {} } = config;
    this.#blank = snapshotOf({ ...emptySnapshot, machine, context: {} }, nowhere);
    this.#createContext = typeof context === 'function' ? context : () => context;
    this.#start = this.#computeStep(nowhere, first, []);
  }

  initialSnapshot(scope: AnyActorScope, input?: unknown): AnyMachineSnapshot {
    const step = this.#macrostep(scope, { type: 'xstate.init', input });
    let snapshot = this.#blank;
    try {
      const context = this.#createContext({ spawn: refuseSpawn, input, self: scope.self });
      snapshot = { ...snapshot, context };
      return this.#settle(this.#take(this.#start, snapshot, step), step);
    } catch (error) {
      return { ...snapshot, status: 'error', error };
    }
  }

  transition(
    snapshot: AnyMachineSnapshot,
    event: AnyEventObject,
    scope: AnyActorScope,
  ): AnyMachineSnapshot {
    const step = this.#macrostep(scope, event);
    if (event.type === 'xstate.stop') return this.#end(snapshot, { status: 'stopped' }, step);
    const chosen = this.#chosen(snapshot, event);
    if (chosen.length === 0 && event.type.startsWith('xstate.error.actor'))
      return this.#end(snapshot, { status: 'error', error: event.error }, step);
    return this.#settle(this.#microstep(chosen, snapshot, step), step);
  }

  #macrostep(scope: AnyActorScope, event: AnyEventObject): Macrostep {
    return { scope, event, internalQueue: [], update: this.#update };
  }

  #end(snapshot: AnyMachineSnapshot, fields: object, step: Macrostep): AnyMachineSnapshot {
    const ended = { ...this.#stopChildren(snapshot, step), ...fields } as AnyMachineSnapshot;
    reportMicrostep(step.scope, step.event, ended, []);
    return ended;
  }

  #stopChildren(snapshot: AnyMachineSnapshot, step: Macrostep): AnyMachineSnapshot {
    const children: readonly AnyActorRef[] = Object.values(snapshot.children);
    return runActions(
      children.map((child) => stopChild(child) as Action),
      snapshot,
      step,
    );
  }

  /** Takes eventless transitions and raised events until nothing is left. */
  #settle(from: AnyMachineSnapshot, step: Macrostep): AnyMachineSnapshot {
    let snapshot = from;
    let mayMove = true;
    let stepsLeft = this.#mostSteps;
    while (snapshot.status === 'active') {
      if (stepsLeft-- <= 0)
        throw new Error(
          `Chart ${this.#machine.id} did not settle within ${this.#mostSteps} microsteps.`,
        );
      const eventless: Step | undefined = mayMove
        ? this.#eventless(snapshot, step.event)
        : undefined;
      let next: AnyMachineSnapshot;
      if (eventless === undefined) {
        const raised = step.internalQueue.shift();
        if (raised === undefined) return snapshot;
        step.event = raised;
        next = this.#microstep(this.#chosen(snapshot, raised), snapshot, step);
      } else {
        next = this.#take(eventless, snapshot, step);
        reportMicrostep(step.scope, step.event, next, eventless.transitions);
      }
      mayMove = eventless === undefined || next !== snapshot;
      snapshot = next;
    }
    this.#stopChildren(snapshot, step);
    return snapshot;
  }

  #microstep(
    chosen: readonly Transition[],
    snapshot: AnyMachineSnapshot,
    step: Macrostep,
  ): AnyMachineSnapshot {
    const next =
      chosen.length === 0
        ? snapshot
        : this.#take(this.#stepFrom(this.#activeIn(snapshot), chosen), snapshot, step);
    reportMicrostep(step.scope, step.event, next, chosen);
    return next;
  }

  #take(
    { actions, entries, last, next }: Step,
    from: AnyMachineSnapshot,
    step: Macrostep,
  ): AnyMachineSnapshot {
    let snapshot = runActions(actions, from, step);
    for (const entry of entries) {
      snapshot = runActions(entry.actions, snapshot, step, entry.childIds);
      for (const { id } of entry.done) step.internalQueue.push(doneEvent(id));
      if (entry.completedBy !== undefined)
        snapshot = completed(snapshot, entry.completedBy, step.scope.self);
    }
    snapshot = runActions(last, snapshot, step);
    return next === undefined ? snapshot : snapshotOf(snapshot, next);
  }

  #chosen(snapshot: AnyMachineSnapshot, event: AnyEventObject): readonly Transition[] {
    const { nodes, choices } = this.#activeIn(snapshot);
    let choice = choices.get(event.type);
    if (choice === undefined && !choices.has(event.type)) {
      choice = choiceOf(this.#machine.root, nodes, event.type);
      // Done and error events contain the actor's id, so new ids create new types.
      if (choices.size === mostChoices) choices.clear();
      choices.set(event.type, choice);
    }
    try {
      return choice === undefined ? [] : chosenFrom(choice, snapshot, event);
    } catch {
      // Evaluates the guards again; its error says which one threw.
      return this.#machine.getTransitionData(snapshot, event);
    }
  }

  /** The step of the enabled eventless transitions; undefined if there are none. */
  #eventless(snapshot: AnyMachineSnapshot, event: AnyEventObject): Step | undefined {
    const active = this.#activeIn(snapshot);
    const chosen = new Set<Transition>();
    for (const candidates of active.eventless) {
      const first = firstOf(candidates, snapshot, event);
      if (first !== undefined) chosen.add(first);
    }
    return chosen.size === 0 ? undefined : this.#stepFrom(active, [...chosen]);
  }

  #stepFrom(active: Configuration, chosen: readonly Transition[]): Step {
    const key = chosen.map((transition) => this.#numberOf(transition)).join();
    const known = active.steps.get(key);
    if (known !== undefined) return known;
    const transitions = withoutConflicts(chosen, active.nodes);
    const step = this.#computeStep(active, transitions, exitedBy(transitions, active.nodes));
    active.steps.set(key, step);
    return step;
  }

  #numberOf(transition: Transition): number {
    const known = this.#numbers.get(transition);
    if (known !== undefined) return known;
    this.#numbers.set(transition, this.#numbers.size);
    return this.#numbers.size - 1;
  }

  #computeStep(
    from: Configuration,
    transitions: readonly Transition[],
    exited: readonly AnyStateNode[],
  ): Step {
    const active = new Set(from.nodes);
    for (const state of exited) active.delete(state);
    const done = new Set<AnyStateNode>();
    const entries = enteredBy(transitions).map((state) => entryOf(state, active.add(state), done));
    const isComplete = entries.some(({ completedBy }) => completedBy !== undefined);
    const isSame =
      active.size === from.nodes.length && from.nodes.every((each) => active.has(each));
    const nodes = isComplete ? [...active].sort(lastFirst) : [...active];
    return {
      transitions,
      actions: [...exited.flatMap(exitActionsOf), ...transitions.flatMap(({ actions }) => actions)],
      entries,
      last: isComplete ? nodes.flatMap(({ exit }) => exit as readonly Action[]) : [],
      next: isSame ? undefined : this.#configurationOf(nodes),
    };
  }

  #activeIn(snapshot: AnyMachineSnapshot): Configuration {
    const nodes = activeStates(snapshot);
    const known = this.#byNodes.get(nodes);
    if (known !== undefined) return known;
    const active = this.#configurationOf(nodes);
    this.#byNodes.set(nodes, active);
    return active;
  }

  #configurationOf(nodes: readonly AnyStateNode[]): Configuration {
    const key = nodes.map(({ order }) => order).join();
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const configuration = {
      nodes,
      value: valueOf(this.#machine.root, nodes),
      tags: new Set(nodes.flatMap(({ tags }) => tags)),
      choices: new Map<string, Choice | undefined>(),
      eventless: eventlessOf(nodes),
      steps: new Map<string, Step>(),
    };
    this.#byKey.set(key, configuration);
    this.#byNodes.set(nodes, configuration);
    return configuration;
  }
}

function refuseUnsupported({ id, type, initial, output, parent, states }: AnyStateNode): void {
  const isUnsupported =
    type === 'history' ||
    (type === 'compound' && initial.actions.length > 0) ||
    (parent !== undefined && output !== undefined);
  if (isUnsupported)
    throw new Error(
      `State ${id} uses history, initial actions or output, which compiled charts do not support.`,
    );
  for (const state of Object.values(states)) refuseUnsupported(state);
}

const emptySnapshot = { status: 'active', children: {}, historyValue: {} } as const;

function completed(
  snapshot: AnyMachineSnapshot,
  by: AnyStateNode,
  self: AnyActorRef,
): AnyMachineSnapshot {
  const { context, machine } = snapshot;
  const { output: create } = machine.root;
  const output =
    typeof create === 'function' ? create({ context, event: doneEvent(by.id), self }) : create;
  return { ...snapshot, status: 'done', output } as AnyMachineSnapshot;
}

function doneEvent(id: string): AnyEventObject {
  return { type: `xstate.done.state.${id}`, output: undefined };
}

function chosenFrom(
  { within, candidates }: Choice,
  snapshot: AnyMachineSnapshot,
  event: AnyEventObject,
): readonly Transition[] {
  const inner = within.flatMap((choice) => chosenFrom(choice, snapshot, event));
  if (inner.length > 0) return inner;
  const own = firstOf(candidates, snapshot, event);
  return own === undefined ? [] : [own];
}

function firstOf(
  candidates: readonly Transition[],
  snapshot: AnyMachineSnapshot,
  event: AnyEventObject,
): Transition | undefined {
  return candidates.find(({ guard }) => guard === undefined || passes(guard, snapshot, event));
}
