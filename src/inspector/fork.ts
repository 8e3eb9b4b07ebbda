/**
 * Continues a recorded moment of a server without I/O, to answer "what if". The real chart is restored and
 * computes on; actors, messages and timers are only recorded. Time advances on request, and nothing reaches a
 * server.
 */

import { createActor, fromCallback } from 'xstate';
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
  parentTargetId,
} from '../../machines/xstate-internals.ts';
import { longestTimerMs } from '../domain/clock.ts';
import type { ForkView, InspectionRecord, PicturedActor } from '../domain/host/inspection.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { isRecord } from '../policies/is-record.ts';
import { delayNameOf, edgeOf, leavesOf, stateValueOf } from '../recorder/chart-names.ts';
import { changedFacts } from '../recorder/recorded-fields.ts';
import type { ServerSnapshot } from '../runtime/status/status-of.ts';
import { exampleOf, possibleEvents } from './fork-events.ts';

/** Where a fork begins. */
export interface ForkStart {
  readonly fork: string;
  /** The record after which it begins. */
  readonly from: number;
  readonly actor: PicturedActor;
  readonly context: ServerContext;
  /** Of that record. */
  readonly t: number;
  /** The charts' clock at `t` 0; events and context use that clock. */
  readonly clockStart: number;
}

type WithoutPlace<Record> = Record extends unknown ? Omit<Record, 'n' | 't'> : never;
type Timer = PicturedActor['timers'][number];

// More than a user reads; fork a later moment to continue.
const mostRecords = 5_000;

/** A day: longer than any delay of a policy that a user would wait for. */
const longestAdvanceMs = 86_400_000;

export class ServerFork {
  readonly #start: ForkStart;
  readonly #inert = createInertScope();
  readonly #records: InspectionRecord[] = [];
  #snapshot: ServerSnapshot;
  #timers: readonly Timer[];
  #t: number;

  constructor(start: ForkStart) {
    this.#start = start;
    this.#t = start.t;
    this.#timers = start.actor.timers;
    this.#snapshot = snapshotOf(start);
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
      events: possibleEvents(this.#snapshot, this.#now()),
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
    const example = exampleOf(type, { context: this.#snapshot.context, at: this.#now() });
    if (example === undefined) {
      const types = possibleEvents(this.#snapshot, this.#now()).map((it) => it.type);
      throw new TroupeError(
        'INVALID_ARGUMENTS',
        `servers never get the event "${type.slice(0, 100)}"; send one of ${types.join(', ')}`,
      );
    }
    const misfit = misfitOf(example, event);
    if (misfit !== undefined) {
      throw new TroupeError(
        'INVALID_ARGUMENTS',
        `${misfit} of ${type} must look like ${JSON.stringify(example[misfit])?.slice(0, 200)}`,
      );
    }
    this.#process({ ...example, ...event, type }, undefined);
  }

  /** Lets time pass; timers fire in order. */
  advance(ms: number): void {
    if (!(ms >= 0 && ms <= longestAdvanceMs)) {
      throw new TroupeError(
        'INVALID_ARGUMENTS',
        `advanceMs must be from 0 to ${longestAdvanceMs} (a day)`,
      );
    }
    const end = this.#t + ms;
    for (let next = this.#firstDue(end); next !== undefined; next = this.#firstDue(end)) {
      const { id } = next;
      this.#t = Math.max(this.#t, next.armedAt + next.ms);
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#note({ kind: 'timerEnd', actor: this.#start.actor.actor, id, fired: true });
      this.#process({ type: id }, this.#start.actor.actor);
    }
    this.#t = end;
  }

  #firstDue(end: number): Timer | undefined {
    const due = (timer: Timer): number => timer.armedAt + timer.ms;
    return this.#timers
      .filter((timer) => due(timer) <= end)
      .reduce<Timer | undefined>(
        (first, timer) => (first === undefined || due(timer) < due(first) ? timer : first),
        undefined,
      );
  }

  #now(): number {
    return this.#start.clockStart + this.#t;
  }

  #process(event: { readonly type: string }, from: string | undefined): void {
    if (this.#records.length >= mostRecords) {
      throw new TroupeError(
        'OVERLOADED',
        `this fork has ${mostRecords} records; fork a later moment`,
      );
    }
    const { actor } = this.#start.actor;
    const { observed } = this.#inert;
    this.#inert.begin(this.#snapshot);
    observed.effects.length = 0;
    observed.transitions.length = 0;
    const next = this.#computed(event);
    this.#note({
      kind: 'event',
      to: actor,
      ...(from === undefined ? {} : { from }),
      type: event.type,
    });
    if (observed.transitions.length === 0) {
      this.#note({ kind: 'ignored', actor, type: event.type });
      return;
    }
    const edges = observed.transitions.flatMap((transition) => edgeOf(transition) ?? []);
    this.#note({ kind: 'step', actor, type: event.type, edges });
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
      throw new TroupeError(
        'INVALID_ARGUMENTS',
        `the chart cannot handle this ${event.type}: ${reason.slice(0, 300)}; see its example`,
        { cause: error },
      );
    }
  }

  #noteEffect(effect: Effect): void {
    const { actor } = this.#start.actor;
    const action = builtInAction(effect);
    if (action?.type === 'xstate.sendTo') {
      const { event, targetId } = action.params;
      this.#note({ kind: 'event', from: actor, to: this.#keyOf(targetId), type: event.type });
    } else if (action?.type === 'xstate.raise') {
      const { id, delay } = action.params;
      if (id !== undefined && delay !== undefined) this.#arm(id, delay);
    } else if (action?.type === 'xstate.cancel') {
      this.#disarm(action.params.sendId);
    }
  }

  /** The key of an event's recipient: the root, or the session the fork would have started. */
  #keyOf(targetId: string | undefined): string {
    const { actor, parent } = this.#start.actor;
    return targetId === parentTargetId ? (parent ?? 'root') : `${actor}/${targetId ?? '?'}`;
  }

  #arm(id: string, ms: number): void {
    this.#disarm(id);
    // The longest delay is how a chart disables a timer.
    if (ms >= longestTimerMs) return;
    const delay = delayNameOf(id);
    const named = delay === undefined ? {} : { delay };
    this.#timers = [...this.#timers, { id, ms, armedAt: this.#t, ...named }];
    this.#note({ kind: 'timer', actor: this.#start.actor.actor, id, ms, ...named });
  }

  #disarm(id: string): void {
    if (!this.#timers.some((timer) => timer.id === id)) return;
    this.#timers = this.#timers.filter((timer) => timer.id !== id);
    this.#note({ kind: 'timerEnd', actor: this.#start.actor.actor, id, fired: false });
  }

  #note(record: WithoutPlace<InspectionRecord>): void {
    this.#records.push({ ...record, n: this.#records.length + 1, t: this.#t });
  }
}

/** The first key whose value has another type than the example's, or lacks a part of it. */
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

/** Restores the chart's snapshot. Its session exists but does nothing. */
function snapshotOf({ actor, context }: ForkStart): ServerSnapshot {
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
