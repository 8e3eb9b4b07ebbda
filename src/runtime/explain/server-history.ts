/**
 * The history that explains servers: their attempts, the running timers, and the last failure. It
 * only observes the charts.
 */

import type { AnyActorRef } from 'xstate';
import {
  builtInAction,
  machineIdOf,
  transitionsOfStep,
  type UnrootedEvent,
} from '../../../machines/xstate/internals.ts';
import { type Clock, longestTimerMs } from '../../domain/clock.ts';
import { defined } from '../../domain/data/defined.ts';
import type { Failure } from '../../domain/failure.ts';
import type { Attempt, StateName } from '../../domain/host/explanation.ts';
import type { LastError, ServerStatus } from '../../domain/host/status.ts';
import type { ServerState } from '../../domain/server-state.ts';
import { equalTyped } from '../../policies/equal-typed.ts';
import { delayNameOf } from '../../recorder/chart-names.ts';
import type { ServerRef } from '../status/board.ts';
import { rowTaken } from '../status/server-chart.ts';
import { conditionOf, type ServerSnapshot } from '../status/status-of.ts';

export interface ServerHistory {
  readonly timeline: AttemptTimeline;
  life: string | undefined;
  lastFailure: { readonly atMs: number; readonly error: LastError } | undefined;
  /** The failure that the chart holds, and since when; a new failure may have the same message. */
  cause: Failure | null;
  causedAtMs: number;
}

export class ServerHistories {
  readonly #histories = new Map<string, ServerHistory>();
  readonly #rows = new WeakMap<object, number>();
  readonly #clock: Pick<Clock, 'wallNow'>;
  readonly timers = new ChartTimers();

  constructor(clock: Pick<Clock, 'wallNow'>) {
    this.#clock = clock;
  }

  /** Records decisions and timers. Must be called for every inspection event. */
  readonly inspect = (event: UnrootedEvent): void => {
    if (event.type === '@xstate.action') this.timers.note(event, this.#clock);
    if (event.type !== '@xstate.microstep') return;
    const row = rowTaken(transitionsOfStep(event));
    if (row !== undefined) this.#rows.set(event.actorRef, row);
  };

  /** Returns the table row that a server's chart took last, counted from 0. */
  lastRowOf(owner: object): number | undefined {
    return this.#rows.get(owner);
  }

  /** Records a server's snapshot. Must be called for every snapshot of every server, in order. */
  readonly observe = (server: string, owner: ServerRef, snapshot: ServerSnapshot): void => {
    const nowMs = this.#clock.wallNow();
    // Holds its id rather than the actor, because an actor that is referenced is never
    // garbage-collected, nor is anything it refers to.
    const life = owner.sessionId;
    const history = this.#histories.get(server) ?? {
      timeline: new AttemptTimeline(),
      life: undefined,
      lastFailure: undefined,
      cause: null,
      causedAtMs: Number.NEGATIVE_INFINITY,
    };
    this.#histories.set(server, history);
    if (history.life !== life) {
      if (history.life !== undefined) history.timeline.close(history.life, nowMs);
      history.life = life;
    }
    const { lastError } = snapshot.context;
    if (lastError !== history.cause) {
      history.cause = lastError;
      history.causedAtMs = nowMs;
    }
    history.timeline.observe(life, snapshot, nowMs);
  };

  noteStatus({ name, lastError }: ServerStatus): void {
    const nowMs = this.#clock.wallNow();
    const history = this.#histories.get(name);
    if (history === undefined || lastError === undefined) return;
    const before = history.lastFailure;
    const isNewCause = before === undefined || history.causedAtMs > before.atMs;
    if (!isNewCause && equalTyped(before.error, lastError)) return;
    history.lastFailure = { atMs: nowMs, error: lastError };
  }

  of(server: string): ServerHistory | undefined {
    return this.#histories.get(server);
  }

  /**
   * Forgets every server except these. The root bounds the number of removed servers among them.
   */
  retain(isKept: (server: string) => boolean): void {
    for (const server of this.#histories.keys()) {
      if (!isKept(server)) this.#histories.delete(server);
    }
  }
}

// Twenty: four whole outages of five attempts each, which fit on one screen.
const keptAttempts = 20;

type Phase = 'queuedMs' | 'connectingMs' | 'loadingToolsMs' | 'readyMs' | 'stoppingMs';

/** The phases of an attempt; in any other state, there is no session. */
const phaseOf: Partial<Readonly<Record<ServerState, Phase>>> = {
  queued: 'queuedMs',
  connecting: 'connectingMs',
  loadingTools: 'loadingToolsMs',
  ready: 'readyMs',
  degraded: 'readyMs',
  stopping: 'stoppingMs',
};

interface AttemptEntry {
  /** The actor that the session belongs to; each actor counts its sessions from 1. */
  readonly life: string;
  readonly session: number;
  readonly generation: string;
  readonly attempt: number;
  readonly startedAtMs: number;
  readonly phases: Map<Phase, number>;
  phase: Phase;
  phaseSinceMs: number;
  endedAtMs?: number;
  failure?: Failure;
  rested?: StateName;
  waitMs?: number;
}

/**
 * Remembers a server's last attempts across its generations: how long each phase took, how the
 * attempt ended, and the wait before the next. It only observes states.
 */
class AttemptTimeline {
  readonly #entries: AttemptEntry[] = [];

  /** @param life - id of the server actor */
  observe(life: string, snapshot: ServerSnapshot, nowMs: number): void {
    const condition = conditionOf(snapshot);
    const { session, generation, tries, loss, delayMs } = snapshot.context;
    const phase = phaseOf[condition.state];
    let entry = this.#entries.at(-1);
    if (phase !== undefined && session > 0 && !isOf(entry, life, session)) {
      if (entry !== undefined) end(entry, nowMs);
      if (entry !== undefined) entry.waitMs = nowMs - (entry.endedAtMs ?? nowMs);
      entry = {
        life,
        session,
        generation,
        attempt: tries.attempt,
        startedAtMs: nowMs,
        phases: new Map(),
        phase,
        phaseSinceMs: nowMs,
      };
      this.#entries.push(entry);
      if (this.#entries.length > keptAttempts) this.#entries.shift();
    }
    // A server without any attempt has no timeline.
    if (entry === undefined || !isOf(entry, life, session)) return;
    if (loss !== null) entry.failure = loss;
    if (phase !== undefined) {
      if (entry.phase !== phase) closePhase(entry, nowMs);
      entry.phase = phase;
      return;
    }
    end(entry, nowMs);
    entry.rested ??= condition;
    if (condition.state === 'backingOff') entry.waitMs = delayMs;
  }

  /** Ends the attempt of an actor that no longer exists. */
  close(life: string, nowMs: number): void {
    const entry = this.#entries.at(-1);
    if (entry?.life === life) end(entry, nowMs);
  }

  /** Returns the attempts, oldest first. */
  attempts(nowMs: number): readonly Attempt[] {
    return this.#entries.map((entry) => shown(entry, nowMs));
  }
}

function isOf(entry: AttemptEntry | undefined, life: string, session: number): boolean {
  return entry?.life === life && entry.session === session;
}

function closePhase(entry: AttemptEntry, nowMs: number): void {
  const before = entry.phases.get(entry.phase) ?? 0;
  entry.phases.set(entry.phase, before + nowMs - entry.phaseSinceMs);
  entry.phaseSinceMs = nowMs;
}

function end(entry: AttemptEntry, nowMs: number): void {
  if (entry.endedAtMs !== undefined) return;
  closePhase(entry, nowMs);
  entry.endedAtMs = nowMs;
}

function shown(entry: AttemptEntry, nowMs: number): Attempt {
  const { session, generation, attempt, startedAtMs, endedAtMs, failure, rested, waitMs } = entry;
  const phases = new Map(entry.phases);
  if (endedAtMs === undefined) {
    phases.set(entry.phase, (phases.get(entry.phase) ?? 0) + nowMs - entry.phaseSinceMs);
  }
  return {
    session,
    generation,
    attempt,
    startedAt: new Date(startedAtMs).toISOString(),
    ...Object.fromEntries(phases),
    ...defined({
      endedAt: endedAtMs === undefined ? undefined : new Date(endedAtMs).toISOString(),
      failure: failure && bare(failure),
      rested,
      waitMs,
    }),
  };
}

/** Removes the stderr lines from a failure: the last failure has them, and so does the log. */
function bare({ kind, message, exitCode, signal }: Failure): NonNullable<Attempt['failure']> {
  return { kind, message, ...defined({ exitCode, signal }) };
}

/** A running timer, in wall time: milliseconds since 1970. */
export interface ChartTimer {
  /** Type of the event that it sends. */
  readonly id: string;
  readonly name: string;
  readonly totalMs: number;
  readonly enteredAtMs: number;
  readonly dueAtMs: number;
}

/** The charts of a server, of its session, and of what the session invokes. */
const charts: ReadonlySet<unknown> = new Set(['server', 'session', 'refresh']);

type ActionEvent = Extract<UnrootedEvent, { readonly type: '@xstate.action' }>;

/** Records when charts set their timers, because charts do not know wall times. */
class ChartTimers {
  readonly #timers = new WeakMap<object, Map<string, ChartTimer>>();

  /** Records a timer. Must be called for every action. */
  note(event: ActionEvent, clock: Pick<Clock, 'wallNow'>): void {
    const action = builtInAction(event.action);
    if (action?.type === 'xstate.cancel') {
      this.#timers.get(event.actorRef)?.delete(action.params.sendId);
      return;
    }
    if (action?.type !== 'xstate.raise') return;
    const { event: raised, delay: totalMs, id = raised.type } = action.params;
    // A chart uses the longest delay for "no timer".
    if (totalMs === undefined || totalMs >= longestTimerMs) return;
    if (!charts.has(machineIdOf(event.actorRef as AnyActorRef))) return;
    const timers = this.#timers.get(event.actorRef) ?? new Map<string, ChartTimer>();
    const enteredAtMs = clock.wallNow();
    const dueAtMs = enteredAtMs + totalMs;
    timers.set(id, { id, name: delayNameOf(id) ?? id, totalMs, enteredAtMs, dueAtMs });
    this.#timers.set(event.actorRef, timers);
  }

  /** Returns one actor's running timers. */
  of(actor: AnyActorRef, wallNowMs: number): readonly ChartTimer[] {
    const timers = this.#timers.get(actor)?.values() ?? [];
    return [...timers].filter(({ dueAtMs }) => dueAtMs > wallNowMs);
  }

  /** Returns the running timers of a session and of the actors that it invoked. */
  ofSession(session: AnyActorRef, wallNowMs: number): readonly ChartTimer[] {
    const { children = {} } = session.getSnapshot() as {
      readonly children?: Readonly<Record<string, AnyActorRef | undefined>>;
    };
    return [session, ...Object.values(children)].flatMap((actor) =>
      actor === undefined ? [] : this.of(actor, wallNowMs),
    );
  }
}
