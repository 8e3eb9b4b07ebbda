/**
 * Continues a recorded moment of a server without I/O, to answer "what if". The real chart is restored and
 * continues; actors, messages and timers are only recorded. Time advances on request, and no message reaches
 * a server.
 */

import { type AnyStateNode, createActor, fromCallback } from 'xstate';
import {
  type ServerContext,
  type ServerEvent,
  serverMachine,
} from '../../machines/server/server.ts';
import {
  activeStates,
  builtInAction,
  createInertScope,
  type Effect,
  type InertScope,
  parentTargetId,
} from '../../machines/xstate/internals.ts';
import { longestTimerMs } from '../../src/domain/clock.ts';
import { defined } from '../../src/domain/data/defined.ts';
import { isRecord } from '../../src/domain/data/is-record.ts';
import { printableLine } from '../../src/domain/data/printable.ts';
import type {
  ForkView,
  InspectionRecord,
  InspectionSource,
  PicturedActor,
} from '../../src/domain/host/inspection.ts';
import { TroupeError } from '../../src/domain/troupe-error.ts';
import {
  delayNameOf,
  edgeOf,
  leavesOf,
  machineHashes,
  stateValueOf,
} from '../../src/recorder/chart-names.ts';
import { changedFacts, factsOf } from '../../src/recorder/recorded-fields.ts';
import type { ServerSnapshot } from '../../src/runtime/status/status-of.ts';
import { exampleOf, possibleEvents } from './fork-events.ts';

/** Where a fork begins. */
interface ForkStart {
  readonly fork: string;
  /** The record after which the fork begins. */
  readonly from: number;
  readonly actor: PicturedActor;
  readonly context: ServerContext;
  /** The time of that record. */
  readonly t: number;
  /** The charts' clock at `t` 0; events and context use that clock. */
  readonly clockStart: number;
}

type WithoutPlace<Record> = Record extends unknown ? Omit<Record, 'n' | 't'> : never;
type Timer = PicturedActor['timers'][number];

// A fork beyond this number replaces the oldest.
const mostForks = 8;

// More than a user reads; fork a later moment to continue.
const mostRecords = 5_000;

/** A day: longer than any delay of a policy that a user would wait for. */
const longestAdvanceMs = 86_400_000;

export class ServerFork {
  readonly #start: ForkStart;
  readonly #inert: InertScope;
  readonly #records: InspectionRecord[] = [];
  #snapshot: ServerSnapshot;
  #timers: readonly Timer[];
  #t: number;

  constructor(start: ForkStart, snapshot = snapshotOf(start), inert = createInertScope()) {
    this.#start = start;
    this.#inert = inert;
    this.#t = start.t;
    this.#timers = start.actor.timers;
    this.#snapshot = snapshot;
  }

  /** Returns a fork of this fork, which continues on its own. */
  branch(): ServerFork {
    const other = new ServerFork(this.#start, this.#snapshot, this.#inert);
    other.#records.push(...this.#records);
    other.#timers = this.#timers;
    other.#t = this.#t;
    return other;
  }

  get snapshot(): ServerSnapshot {
    return this.#snapshot;
  }

  get records(): readonly InspectionRecord[] {
    return this.#records;
  }

  /** How long each timer still runs, in milliseconds. */
  get waits(): readonly number[] {
    return this.#timers.map((timer) => Math.max(0, dueAt(timer) - this.#t));
  }

  view(): ForkView {
    const { fork, from, actor } = this.#start;
    return {
      fork,
      from,
      actor: actor.actor,
      t: this.#t,
      records: this.#records,
      state: {
        ...actor,
        life: this.#snapshot.status,
        leaves: leavesOf(activeStates(this.#snapshot)),
        timers: this.#timers,
      },
      events: possibleEvents(this.#snapshot, this.now),
    };
  }

  /** The fork's context. */
  context(): ServerContext {
    return this.#snapshot.context;
  }

  /**
   * Sends an event. Missing fields are taken from the example of its type.
   * @throws TroupeError `INVALID_ARGUMENTS` for an event that servers never get, or a payload that the chart
   *   cannot handle; the fork then stays unchanged
   */
  inject(event: Readonly<Record<string, unknown>>): void {
    const type = String(event['type']);
    const example = exampleOf(type, { context: this.#snapshot.context, at: this.now });
    if (example === undefined) {
      const types = possibleEvents(this.#snapshot, this.now).map((it) => it.type);
      throw invalid(
        `servers never get the event "${type.slice(0, 100)}"; send one of ${types.join(', ')}`,
      );
    }
    const misfit = misfitOf(example, event);
    if (misfit !== undefined) {
      throw invalid(
        `${misfit} of ${type} must look like ${JSON.stringify(example[misfit])?.slice(0, 200)}`,
      );
    }
    this.#process({ ...example, ...event, type }, undefined);
  }

  /** Lets time pass; timers fire in order. */
  advance(ms: number): void {
    if (!(ms >= 0 && ms <= longestAdvanceMs))
      throw invalid(`advanceMs must be from 0 to ${longestAdvanceMs} (a day)`);
    const end = this.#t + ms;
    for (;;) {
      const [next] = this.#timers.toSorted((one, other) => dueAt(one) - dueAt(other));
      if (next === undefined || dueAt(next) > end) break;
      this.#t = Math.max(this.#t, dueAt(next));
      this.#endTimer(next.id, true);
      this.#process({ type: next.id }, this.#start.actor.actor);
    }
    this.#t = end;
  }

  /** The time on the charts' clock. */
  get now(): number {
    return this.#start.clockStart + this.#t;
  }

  #process(event: { readonly type: string }, from: string | undefined): void {
    if (this.#records.length >= mostRecords)
      throw new TroupeError(
        'OVERLOADED',
        `this fork has ${mostRecords} records; fork a later moment`,
      );
    const { actor } = this.#start.actor;
    const { observed } = this.#inert;
    this.#inert.begin(this.#snapshot);
    observed.effects.length = 0;
    observed.transitions.length = 0;
    const next = this.#computed(event);
    const { type } = event;
    this.#note({ kind: 'event', to: actor, type, ...defined({ from, facts: factsOf(event) }) });
    if (observed.transitions.length === 0) return this.#note({ kind: 'ignored', actor, type });
    const edges = observed.transitions.flatMap((transition) => edgeOf(transition) ?? []);
    this.#note({ kind: 'step', actor, type, edges });
    for (const effect of observed.effects) this.#noteEffect(effect);
    const changed = changedFacts('server', this.#snapshot.context, next.context);
    this.#snapshot = next;
    this.#note({
      kind: 'state',
      actor,
      life: next.status,
      leaves: leavesOf(activeStates(next)),
      ...(changed === undefined ? {} : { changed }),
    });
  }

  #computed(event: { readonly type: string }): ServerSnapshot {
    try {
      const next = serverMachine.transition(
        this.#snapshot,
        event as ServerEvent,
        this.#inert.scope as Parameters<typeof serverMachine.transition>[2],
      );
      if (next.status !== 'error') return next;
      throw next.error;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw invalid(
        `the chart cannot handle this ${event.type}: ${reason.slice(0, 300)}; see its example`,
        error,
      );
    }
  }

  #noteEffect(effect: Effect): void {
    const { actor, parent } = this.#start.actor;
    const action = builtInAction(effect);
    if (action?.type === 'xstate.sendTo') {
      const { event, targetId } = action.params;
      // The recipient is the root or the session that the fork would have started.
      const to = targetId === parentTargetId ? (parent ?? 'root') : `${actor}/${targetId ?? '?'}`;
      this.#note({ kind: 'event', from: actor, to, type: event.type });
    } else if (action?.type === 'xstate.raise') {
      const { id, delay } = action.params;
      if (id !== undefined && delay !== undefined) this.#startTimer(id, delay);
    } else if (action?.type === 'xstate.cancel') {
      this.#endTimer(action.params.sendId, false);
    }
  }

  #startTimer(id: string, ms: number): void {
    this.#endTimer(id, false);
    // The longest delay is how a chart disables a timer.
    if (ms >= longestTimerMs) return;
    const delay = delayNameOf(id);
    const timer = { id, ms, ...(delay === undefined ? {} : { delay }) };
    this.#timers = [...this.#timers, { ...timer, armedAt: this.#t }];
    this.#note({ kind: 'timer', actor: this.#start.actor.actor, ...timer });
  }

  #endTimer(id: string, fired: boolean): void {
    if (!this.#timers.some((timer) => timer.id === id)) return;
    this.#timers = this.#timers.filter((timer) => timer.id !== id);
    this.#note({ kind: 'timerEnd', actor: this.#start.actor.actor, id, fired });
  }

  #note(record: WithoutPlace<InspectionRecord>): void {
    this.#records.push({ ...record, n: this.#records.length + 1, t: this.#t });
  }
}

function dueAt({ armedAt, ms }: Timer): number {
  return armedAt + ms;
}

/** The first key whose value differs in type from the example's, or lacks one of its parts. */
function misfitOf(
  example: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, unknown>>,
): string | undefined {
  return Object.keys(example).find((key) => {
    if (!Object.hasOwn(given, key)) return false;
    const [wanted, value] = [example[key], given[key]];
    if (!isRecord(wanted)) return typeof wanted !== typeof value;
    return !isRecord(value) || Object.keys(wanted).some((part) => !Object.hasOwn(value, part));
  });
}

const statesBelow = (state: AnyStateNode): readonly AnyStateNode[] => [
  state,
  ...Object.values(state.states).flatMap(statesBelow),
];
const serverLeaves: ReadonlySet<string> = new Set(leavesOf(statesBelow(serverMachine.root)));

/** Restores the chart's snapshot, with a session that does nothing. */
function snapshotOf({ actor, context }: ForkStart): ServerSnapshot {
  const unknown = actor.leaves.find((leaf) => !serverLeaves.has(leaf));
  if (unknown !== undefined)
    throw invalid(`the recording names no state of a server: ${printableLine(unknown, 100)}`);
  const value = stateValueOf(actor.leaves);
  const snapshot = serverMachine.resolveState({ value, context });
  const isEngaged = actor.leaves.some((leaf) => leaf.startsWith('connection.engaged.'));
  const session = createActor(
    fromCallback(() => {}),
    { id: 'session' },
  );
  // Snapshots are plain objects; only their types forbid it.
  const children = isEngaged ? { session } : {};
  return Object.assign(snapshot, { children }) as unknown as ServerSnapshot;
}

function invalid(message: string, cause?: unknown): TroupeError {
  return new TroupeError('INVALID_ARGUMENTS', message, { cause });
}

/**
 * Forks a server at the moment after a record.
 * @throws TroupeError `INVALID_ARGUMENTS` for a moment that is no longer recorded, an actor that was not a
 *   server then, and records of another version's charts
 */
export function forkAt(
  source: InspectionSource,
  fork: string,
  { actor, at }: { readonly actor: unknown; readonly at: unknown },
): ServerFork {
  if (typeof actor !== 'string' || typeof at !== 'number' || !Number.isSafeInteger(at) || at < 0)
    throw invalid('send {"at": 120, "actor": "x:4"}');
  const { machines, clockStart, version } = source;
  if (machines.server !== machineHashes().server)
    throw invalid(`this was recorded with another server chart; open it with version ${version}`);
  const picture = source.picture(at);
  const pictured = picture?.actors.find((each) => each.actor === actor);
  const context = source.context(actor, at);
  if (picture === undefined || pictured?.machine !== 'server' || context === undefined)
    throw invalid(
      `after record ${at} there is no server ${actor.slice(0, 100)}; fork a server at a recorded moment`,
    );
  return new ServerFork({
    fork,
    from: at,
    actor: pictured,
    // Everything a server's chart depends on is recorded.
    context: context as unknown as ServerContext,
    t: picture.t,
    clockStart,
  });
}

/** The forks that pages have open. */
export class Forks {
  readonly #source: InspectionSource;
  readonly #forks = new Map<string, ServerFork>();
  #count = 0;

  constructor(source: InspectionSource) {
    this.#source = source;
  }

  /**
   * `POST /api/fork`: forks a server at the moment after a record.
   * @throws TroupeError as {@link forkAt}
   */
  create(body: unknown): ForkView {
    const { actor, at } = isRecord(body) ? body : {};
    this.#count += 1;
    const id = `f${this.#count}`;
    const fork = forkAt(this.#source, id, { actor, at });
    this.#forks.set(id, fork);
    const [oldest] = this.#forks.keys();
    if (this.#forks.size > mostForks && oldest !== undefined) this.#forks.delete(oldest);
    return fork.view();
  }

  /** `POST /api/fork/ID`: sends an event or lets time pass. */
  change(id: string, body: unknown): ForkView {
    const { event, advanceMs } = isRecord(body) ? body : {};
    if (!isRecord(event) && typeof advanceMs !== 'number')
      throw invalid('send {"event": {"type": "server.stop"}} or {"advanceMs": 1000}');
    const fork = this.#forks.get(id);
    if (fork === undefined)
      throw invalid(
        `fork ${id.slice(0, 100)} does not exist, or a newer one replaced it; fork again`,
      );
    if (isRecord(event)) fork.inject(event);
    else fork.advance(Number(advanceMs));
    return fork.view();
  }

  remove(id: string): void {
    this.#forks.delete(id);
  }
}
