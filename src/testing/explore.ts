import type {
  AnyEventObject,
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyTransitionDefinition,
  EventFrom,
  EventObject,
  InputFrom,
  SnapshotFrom,
} from 'xstate';
import { activeStates, createInertScope, type Effect } from '../../machines/xstate/internals.ts';
import {
  fieldOf,
  pathOf,
  statesOf,
  transitionsOf,
  transitionText,
  withAncestors,
} from './chart-parts.ts';

/** One event sent in one snapshot, and its effects. */
export interface ExploredStep<Machine extends AnyStateMachine> {
  /** The snapshot that the event was sent to. */
  readonly before: SnapshotFrom<Machine>;
  /** The event. */
  readonly event: EventFrom<Machine>;
  /** The snapshot that resulted. */
  readonly after: SnapshotFrom<Machine>;
  /** Actions that the chart would have executed, `xstate.sendTo`, `xstate.raise` and so on included. */
  readonly effects: readonly Effect[];
  /** False when no state handled the event. */
  readonly isHandled: boolean;
}

/** Payload variants of one event type: a list, or a function that returns one for a snapshot. */
export type EventChoice<Machine extends AnyStateMachine, Event extends EventObject> =
  | readonly Event[]
  | ((snapshot: SnapshotFrom<Machine>) => readonly Event[]);

/**
 * Payload variants by event type.
 *
 * A type that is not listed is sent as `{ type }`; one with an empty list is never sent.
 */
export type EventChoices<Machine extends AnyStateMachine> = {
  readonly [Type in EventFrom<Machine>['type']]?: EventChoice<Machine, EventFrom<Machine>>;
} & {
  readonly [internal: `xstate.${string}`]: EventChoice<Machine, AnyEventObject>;
};

/** What to explore, and rules that must always hold. */
export interface ExploreOptions<Machine extends AnyStateMachine> {
  /** The search starts once with each of these. */
  readonly inputs: readonly InputFrom<Machine>[];
  /** Payload variants by event type; types that are not listed are sent without a payload. */
  readonly events?: EventChoices<Machine>;
  /** Event types that only the chart itself raises. Static `raise` actions need not be listed. */
  readonly internal?: readonly string[];
  /**
   * Names a snapshot's abstract state; equal names are explored once.
   *
   * Omit fields that grow without limit (session numbers, times), and keep fields that guards read.
   * Default: state value, context and the names of the children, as JSON.
   */
  readonly key?: (snapshot: SnapshotFrom<Machine>) => string;
  /**
   * Returns the ids of the children that may end in a snapshot. Default: those that XState lists; a
   * chart may keep more in its context.
   */
  readonly children?: (snapshot: SnapshotFrom<Machine>) => readonly string[];
  /** Returns a sentence for each rule that a snapshot breaks. Runs once per state. */
  readonly invariants?: (snapshot: SnapshotFrom<Machine>) => readonly string[];
  /** Returns a sentence for each rule that a transition breaks. Runs for each transition. */
  readonly stepInvariants?: (step: ExploredStep<Machine>) => readonly string[];
  /** Each must stay reachable from every state: `{ 'the end': (s) => s.status === 'done' }`. */
  readonly goals?: Readonly<Record<string, (snapshot: SnapshotFrom<Machine>) => boolean>>;
  /** Most states to visit. Default: 100,000, which take some seconds; a good abstraction has far fewer. */
  readonly limit?: number;
}

/** A violated rule, with a shortest path to it. */
export interface ExploreProblem {
  /** One sentence: which rule is violated. */
  readonly problem: string;
  /** Index of the input with which the path starts. */
  readonly inputIndex: number;
  /** The events that lead to it, in order. */
  readonly path: readonly EventObject[];
}

/** The result of an exploration. */
export interface Exploration {
  /** Number of abstract states. */
  readonly states: number;
  /** Number of events tried. */
  readonly transitions: number;
  /** Number of the chart's transitions that were taken. */
  readonly covered: number;
  /** Transitions never taken, one line each: `ready -- session.closed [wasLost] --> settling`. */
  readonly uncovered: readonly string[];
  /** Dotted paths of states never entered. */
  readonly unvisited: readonly string[];
  /** Without duplicates. */
  readonly problems: readonly ExploreProblem[];
}

/**
 * Visits every reachable state of a chart, breadth first, without running anything.
 *
 * Sends every event that an active state mentions, its timers included. Done and error events of a
 * child are sent only while that child exists, and events that the chart itself raises only when
 * there is a choice for them. Time is not modelled: any armed timer may fire next. A chart that
 * throws, ends in error, or breaks an invariant is reported with a shortest path of events, and
 * the search does not continue beyond such a state.
 */
export function explore<Machine extends AnyStateMachine>(
  machine: Machine,
  options: ExploreOptions<Machine>,
): Exploration {
  // The search itself is untyped: it passes only this machine's snapshots and events to the options.
  return new Search(machine, options as unknown as ExploreOptions<AnyStateMachine>).run();
}

/** Prints a problem and its path, one event a line. */
export function describeProblem(problem: ExploreProblem): string {
  const lines = problem.path.map((event, index) => `  ${index + 1}. ${JSON.stringify(event)}`);
  return [`${problem.problem} (input ${problem.inputIndex})`, ...lines].join('\n');
}

const defaultLimitCount = 100_000;

interface Place {
  readonly index: number;
  readonly inputIndex: number;
  readonly from: Place | undefined;
  readonly event: EventObject | undefined;
}

class Search {
  readonly #machine: AnyStateMachine;
  readonly #options: ExploreOptions<AnyStateMachine>;
  readonly #choices: ReadonlyMap<string, EventChoice<AnyStateMachine, EventObject> | undefined>;
  readonly #neverSent: ReadonlySet<string>;
  readonly #limit: number;
  readonly #inert = createInertScope();
  readonly #places: Place[] = [];
  readonly #indexByKey = new Map<string, number>();
  readonly #edges: [number, number][] = [];
  // Only the newest places keep their snapshots, because snapshots hold child actors.
  #frontier: (readonly [Place, AnyMachineSnapshot])[] = [];
  readonly #reachedBy = new Map<string, Set<number>>();
  readonly #covered = new Set<AnyTransitionDefinition>();
  readonly #visited = new Set<unknown>();
  readonly #problems = new Map<string, ExploreProblem>();
  #transitionCount = 0;

  constructor(machine: AnyStateMachine, options: ExploreOptions<AnyStateMachine>) {
    this.#machine = machine;
    this.#options = options;
    this.#choices = new Map(Object.entries(options.events ?? {}));
    this.#neverSent = new Set([...raisedTypes(machine), ...(options.internal ?? [])]);
    this.#limit = options.limit ?? defaultLimitCount;
    for (const name of Object.keys(options.goals ?? {})) this.#reachedBy.set(name, new Set());
  }

  run(): Exploration {
    this.#options.inputs.forEach((input, inputIndex) => this.#start(input, inputIndex));
    while (this.#frontier.length > 0 && !this.#isFull()) {
      const level = this.#frontier;
      this.#frontier = [];
      for (const [place, snapshot] of level) {
        if (this.#isFull()) break;
        this.#expand(place, snapshot);
      }
    }
    this.#checkGoals();
    return this.#result();
  }

  #start(input: InputFrom<AnyStateMachine>, inputIndex: number): void {
    this.#begin(undefined);
    const snapshot: AnyMachineSnapshot = this.#machine.getInitialSnapshot(this.#inert.scope, input);
    this.#cover();
    this.#arrive(snapshot, {
      index: this.#places.length,
      inputIndex,
      from: undefined,
      event: undefined,
    });
  }

  #expand(place: Place, snapshot: AnyMachineSnapshot): void {
    for (const event of this.#eventsIn(snapshot)) {
      this.#transitionCount += 1;
      const next = { ...place, index: this.#places.length, from: place, event };
      const after = this.#take(snapshot, next);
      if (after === undefined) continue;
      this.#checkStep(snapshot, after, next);
      this.#edges.push([place.index, this.#arrive(after, next)]);
    }
  }

  /** The events that may be sent to the chart in this snapshot. */
  #eventsIn(snapshot: AnyMachineSnapshot): readonly EventObject[] {
    const descriptors = activeStates(snapshot).flatMap((state) => [...state.transitions.keys()]);
    const types = new Set(descriptors.flatMap((each) => this.#typesNamedBy(each, snapshot)));
    return [...types].flatMap((type) => {
      const choice = this.#choices.get(type);
      if (typeof choice === 'function') return choice(snapshot);
      if (choice !== undefined) return choice;
      return this.#neverSent.has(type) || needsChoice.test(type) ? [] : [bareEvent(type)];
    });
  }

  #typesNamedBy(descriptor: string, snapshot: AnyMachineSnapshot): readonly string[] {
    const prefix = /^xstate\.(done|error)\.actor\./.exec(descriptor)?.[0];
    if (prefix !== undefined) {
      const wanted = descriptor.slice(prefix.length);
      const ids = this.#options.children?.(snapshot) ?? Object.keys(snapshot.children);
      return ids.filter((id) => wanted === '*' || wanted === id).map((id) => prefix + id);
    }
    if (!descriptor.endsWith('*')) return [descriptor];
    const start = descriptor.slice(0, -1);
    return [...this.#choices.keys()].filter((type) => type.startsWith(start));
  }

  #take(snapshot: AnyMachineSnapshot, next: Place): AnyMachineSnapshot | undefined {
    this.#begin(snapshot);
    try {
      return this.#machine.transition(snapshot, next.event, this.#inert.scope);
    } catch (error) {
      this.#report(next, `the chart throws on ${next.event?.type}: ${String(error)}`);
      return undefined;
    } finally {
      this.#cover();
    }
  }

  #arrive(snapshot: AnyMachineSnapshot, place: Place): number {
    const key = `${snapshot.status} ${(this.#options.key ?? defaultKey)(snapshot)}`;
    const known = this.#indexByKey.get(key);
    if (known !== undefined) return known;
    this.#indexByKey.set(key, place.index);
    this.#places.push(place);
    for (const state of activeStates(snapshot)) this.#visited.add(state);
    for (const [name, reached] of this.#reachedBy) {
      if (this.#options.goals?.[name]?.(snapshot) === true) reached.add(place.index);
    }
    if (snapshot.status === 'error') {
      this.#report(place, `the chart fails: ${String(snapshot.error)}`);
      return place.index;
    }
    const wrong = this.#options.invariants?.(snapshot) ?? [];
    for (const problem of wrong) this.#report(place, problem);
    if (snapshot.status === 'active' && wrong.length === 0) this.#frontier.push([place, snapshot]);
    return place.index;
  }

  #checkStep(before: AnyMachineSnapshot, after: AnyMachineSnapshot, next: Place): void {
    const { stepInvariants } = this.#options;
    if (stepInvariants === undefined || next.event === undefined) return;
    const { effects, transitions } = this.#inert.observed;
    const step = {
      before,
      event: next.event,
      after,
      effects: [...effects],
      isHandled: transitions.length > 0,
    };
    for (const problem of stepInvariants(step)) this.#report(next, problem);
  }

  #checkGoals(): void {
    // After a search that stopped early, unexplored states may lead to the goal.
    if (this.#isFull()) return;
    for (const [name, reached] of this.#reachedBy) {
      const stuck = unreached(this.#places.length, this.#edges, reached);
      const first = this.#places[stuck[0] ?? -1];
      if (first !== undefined)
        this.#report(first, `no way to ${name} from ${stuck.length} states, of which this is one`);
    }
  }

  #isFull(): boolean {
    return this.#places.length >= this.#limit;
  }

  #begin(snapshot: AnyMachineSnapshot | undefined): void {
    this.#inert.begin(snapshot);
    this.#inert.observed.effects.length = 0;
    this.#inert.observed.transitions.length = 0;
  }

  #cover(): void {
    for (const transition of this.#inert.observed.transitions) this.#covered.add(transition);
  }

  #report(place: Place, problem: string): void {
    // The search is breadth first: the first path to a problem is a shortest one.
    if (this.#problems.has(problem)) return;
    const path: EventObject[] = [];
    for (let at: Place | undefined = place; at?.event !== undefined; at = at.from)
      path.unshift(at.event);
    this.#problems.set(problem, { problem, inputIndex: place.inputIndex, path });
  }

  #result(): Exploration {
    const start = this.#places[0];
    if (start !== undefined && this.#isFull()) {
      this.#report(start, `the search stopped at its limit of ${this.#limit} states`);
    }
    const states = statesOf(this.#machine);
    // A state that is left within the step that entered it shows only as a transition's source.
    for (const { source } of this.#covered) {
      for (const state of withAncestors(source)) this.#visited.add(state);
    }
    const transitions = states.flatMap(transitionsOf);
    const uncovered = transitions.filter((transition) => !this.#covered.has(transition));
    const unvisited = states.filter(
      (state) => state.type !== 'history' && !this.#visited.has(state),
    );
    return {
      states: this.#places.length,
      transitions: this.#transitionCount,
      covered: transitions.length - uncovered.length,
      uncovered: uncovered.map(transitionText),
      unvisited: unvisited.map(pathOf),
      problems: [...this.#problems.values()],
    };
  }
}

function defaultKey(snapshot: AnyMachineSnapshot): string {
  return JSON.stringify([
    snapshot.value,
    snapshot.context,
    Object.keys(snapshot.children).toSorted(),
  ]);
}

/** The states, in ascending order, from which no goal can be reached. */
function unreached(
  stateCount: number,
  edges: readonly (readonly [from: number, to: number])[],
  goals: ReadonlySet<number>,
): readonly number[] {
  const sources = Array.from({ length: stateCount }, (): number[] => []);
  for (const [from, to] of edges) sources[to]?.push(from);
  const reaching = new Set(goals);
  // A set that grows during its iteration is its own queue.
  for (const state of reaching) for (const source of sources[state] ?? []) reaching.add(source);
  return [...sources.keys()].filter((state) => !reaching.has(state));
}

// The chart itself raises `done.state`; the other events need a payload.
const needsChoice = /^xstate\.(?!after\.|done\.actor\.|error\.actor\.)/;

function bareEvent(type: string): EventObject {
  const [, kind, actorId] = /^xstate\.(done|error)\.actor\.(.*)$/.exec(type) ?? [];
  if (kind === undefined) return { type };
  const outcome =
    kind === 'done' ? { output: undefined } : { error: new Error(`${actorId} failed`) };
  return { type, ...{ actorId, ...outcome } };
}

// Events raised inside `enqueueActions` are known only at run time; callers list those as internal.
function raisedTypes(machine: AnyStateMachine): readonly string[] {
  return Object.values(machine.implementations.actions).flatMap((action) => {
    if (fieldOf(action, 'type') !== 'xstate.raise') return [];
    const type = fieldOf(fieldOf(action, 'event'), 'type');
    return typeof type === 'string' ? [type] : [];
  });
}
