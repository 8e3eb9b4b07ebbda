/**
 * What the runtime remembers of the past of servers so that it can be explained:
 * their tries, the timers that run, and the last failure. An observer of the
 * charts: they neither know of it nor grow by it.
 */

import type { InspectionEvent } from 'xstate';
import { transitionsOfStep } from '../../../machines/xstate-internals.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Failure } from '../../domain/failure.ts';
import type { LastError, ServerStatus } from '../../domain/host/status.ts';
import { equalTyped } from '../../policies/equal-typed.ts';
import type { ServerRef } from '../status/board.ts';
import { rowTaken } from '../status/server-chart.ts';
import { AttemptTimeline, type Observation } from './attempt-timeline.ts';
import { ChartTimers } from './chart-timers.ts';

export interface ServerHistory {
  readonly timeline: AttemptTimeline;
  life: string | undefined;
  lastFailure: { readonly atMs: number; readonly error: LastError } | undefined;
  /** The failure that its chart holds, and since when: the same words may tell of a new one. */
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

  /** Sees every event of the charts: it notes the decisions of servers and the timers of sessions. */
  readonly inspect = (event: InspectionEvent): void => {
    this.timers.note(event, this.#clock.wallNow());
    if (event.type !== '@xstate.microstep') return;
    const row = rowTaken(transitionsOfStep(event));
    if (row !== undefined) this.#rows.set(event.actorRef, row);
  };

  /** The line of its table that the chart of a server took last, from 0. */
  lastRowOf(owner: object): number | undefined {
    return this.#rows.get(owner);
  }

  /** Has to hear of every snapshot of every server, in their order. */
  observe(server: string, owner: ServerRef, seen: Omit<Observation, 'life'>): void {
    // Its id, because an actor that is referenced is never collected, with all that it knew.
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
      if (history.life !== undefined) history.timeline.close(history.life, seen.nowMs);
      history.life = life;
    }
    const { lastError } = seen.snapshot.context;
    if (lastError !== history.cause) {
      history.cause = lastError;
      history.causedAtMs = seen.nowMs;
    }
    history.timeline.observe({ ...seen, life });
  }

  noteStatus({ name, lastError }: ServerStatus, nowMs: number): void {
    const history = this.#histories.get(name);
    if (history === undefined || lastError === undefined) return;
    const told = history.lastFailure;
    if (told !== undefined && history.causedAtMs <= told.atMs && equalTyped(told.error, lastError))
      return;
    history.lastFailure = { atMs: nowMs, error: lastError };
  }

  of(server: string): ServerHistory | undefined {
    return this.#histories.get(server);
  }

  /** Forgets every server but these; of those that were removed the root remembers a bounded number. */
  retain(names: ReadonlySet<string>): void {
    for (const server of this.#histories.keys()) {
      if (!names.has(server)) this.#histories.delete(server);
    }
  }
}
