import type {
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyTransitionDefinition,
  EventFrom,
  EventObject,
  InputFrom,
  SnapshotFrom,
} from 'xstate';
import { activeStates, createInertScope, type Effect } from '../../machines/xstate-internals.ts';
import { pathOf, statesOf, transitionsOf, transitionText, withAncestors } from './chart-parts.ts';
import { type Alphabet, alphabetOf, type EventChoices } from './explore-events.ts';

/** One event taken in one snapshot, and its effects. */
export interface ExploredStep<Machine extends AnyStateMachine> {
  readonly before: SnapshotFrom<Machine>;
  readonly event: EventFrom<Machine>;
  readonly after: SnapshotFrom<Machine>;
  /** What the chart would have executed: named actions and `xstate.sendTo`, `xstate.raise` and so on. */
  readonly effects: readonly Effect[];
  /** False when no state answered the event. */
  readonly isHandled: boolean;
}

/** What to explore and what must hold everywhere. */
export interface ExploreOptions<Machine extends AnyStateMachine> {
  /** The search starts once from each of these. */
  readonly inputs: readonly InputFrom<Machine>[];
  /** Payload variants by event type; types not listed are sent bare. */
  readonly events?: EventChoices<Machine>;
  /** Event types that only the chart itself raises; static `raise` actions are found without it. */
  readonly internal?: readonly string[];
  /**
   * Names the abstract state of a snapshot; equal names are explored once.
   *
   * Leave out what grows for ever (session numbers, times), keep what guards read.
   * Default: state value, context and the names of the children, as JSON.
   */
  readonly key?: (snapshot: SnapshotFrom<Machine>) => string;
  /** Says what is wrong with a snapshot, in sentences. Runs once per state. */
  readonly invariants?: (snapshot: SnapshotFrom<Machine>) => readonly string[];
  /** Says what is wrong with a transition, in sentences. Runs for each transition. */
  readonly stepInvariants?: (step: ExploredStep<Machine>) => readonly string[];
  /** Each must stay reachable from every state: `{ 'the end': (s) => s.status === 'done' }`. */
  readonly goals?: Readonly<Record<string, (snapshot: SnapshotFrom<Machine>) => boolean>>;
  /** Most states to visit. Default 100,000: some seconds, and far more than a good abstraction has. */
  readonly limit?: number;
}

/** A violated rule, with a shortest path to it. */
export interface ExploreProblem {
  readonly problem: string;
  /** Which of the inputs the path starts from. */
  readonly inputIndex: number;
  readonly path: readonly EventObject[];
}

/** What an exploration found. */
export interface Exploration {
  /** Number of abstract states. */
  readonly states: number;
  /** Number of events tried. */
  readonly transitions: number;
  /** Number of transitions of the chart that were taken. */
  readonly covered: number;
  /** Transitions never taken, one line each: `ready -- session.closed [wasLost] --> settling`. */
  readonly uncovered: readonly string[];
  /** Dotted paths of states never entered. */
  readonly unvisited: readonly string[];
  /** Each different sentence once. */
  readonly problems: readonly ExploreProblem[];
}

/**
 * Visits every reachable state of a chart, breadth first, without running anything.
 *
 * Tries in each state all events that it mentions, its timers, and the end or
 * failure of its children. Time is not modelled: any armed timer may fire next.
 * A chart that throws, ends in error, or breaks an invariant is reported with a
 * shortest path of events; nothing is explored beyond such a state.
 */
export function explore<Machine extends AnyStateMachine>(
  machine: Machine,
  options: ExploreOptions<Machine>,
): Exploration {
  // The search itself is untyped: it only hands snapshots and events of this very machine to these
  // functions.
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

interface Arrival {
  readonly place: Place;
  readonly snapshot: AnyMachineSnapshot;
}

class Search {
  readonly #machine: AnyStateMachine;
  readonly #options: ExploreOptions<AnyStateMachine>;
  readonly #alphabet: Alphabet;
  readonly #key: (snapshot: AnyMachineSnapshot) => string;
  readonly #limit: number;
  readonly #inert = createInertScope();
  readonly #places: Place[] = [];
  readonly #indexByKey = new Map<string, number>();
  readonly #edges: [number, number][] = [];
  // Only the edge of the search holds snapshots, for they hold the children created for them.
  #frontier: Arrival[] = [];
  readonly #reachedBy = new Map<string, Set<number>>();
  readonly #covered = new Set<AnyTransitionDefinition>();
  readonly #visited = new Set<unknown>();
  readonly #problems = new Map<string, ExploreProblem>();
  #transitionCount = 0;

  constructor(machine: AnyStateMachine, options: ExploreOptions<AnyStateMachine>) {
    this.#machine = machine;
    this.#options = options;
    this.#alphabet = alphabetOf(machine, options.events ?? {}, options.internal ?? []);
    this.#key = options.key ?? defaultKey;
    this.#limit = options.limit ?? defaultLimitCount;
    for (const name of Object.keys(options.goals ?? {})) this.#reachedBy.set(name, new Set());
  }

  run(): Exploration {
    this.#options.inputs.forEach((input, inputIndex) => this.#start(input, inputIndex));
    while (this.#frontier.length > 0 && !this.#isFull()) {
      const level = this.#frontier;
      this.#frontier = [];
      for (const { place, snapshot } of level) {
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
    for (const event of this.#alphabet(snapshot)) {
      this.#transitionCount += 1;
      const next = { ...place, index: this.#places.length, from: place, event };
      const after = this.#take(snapshot, next);
      if (after === undefined) continue;
      this.#checkStep(snapshot, after, next);
      this.#edges.push([place.index, this.#arrive(after, next)]);
    }
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
    const key = `${snapshot.status} ${this.#key(snapshot)}`;
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
    if (snapshot.status === 'active' && wrong.length === 0)
      this.#frontier.push({ place, snapshot });
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
    // In a search that was cut off, what lies beyond the edge may well lead to the goal.
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
    // A state that is left within the step that entered it shows only as the source of a
    // transition.
    for (const { source } of this.#covered) {
      for (const state of withAncestors(source)) this.#visited.add(state);
    }
    const uncovered = states
      .flatMap(transitionsOf)
      .filter((transition) => !this.#covered.has(transition));
    const unvisited = states.filter(
      (state) => state.type !== 'history' && !this.#visited.has(state),
    );
    return {
      states: this.#places.length,
      transitions: this.#transitionCount,
      covered: states.flatMap(transitionsOf).length - uncovered.length,
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

/** Lists the states from which none of the goal states can be reached, in ascending order. */
function unreached(
  stateCount: number,
  edges: readonly (readonly [from: number, to: number])[],
  goals: ReadonlySet<number>,
): readonly number[] {
  const sources = new Map<number, number[]>();
  for (const [from, to] of edges) {
    const known = sources.get(to);
    if (known === undefined) sources.set(to, [from]);
    else known.push(from);
  }
  const reaching = new Set(goals);
  // A set that grows while it is walked is its own queue.
  for (const state of reaching) {
    for (const source of sources.get(state) ?? []) reaching.add(source);
  }
  return Array.from({ length: stateCount }, (_, state) => state).filter(
    (state) => !reaching.has(state),
  );
}
