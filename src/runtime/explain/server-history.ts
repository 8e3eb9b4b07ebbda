/**
 * The history that explains servers: their attempts, the running timers, and the last failure. It
 * only observes the charts.
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
  /** The failure that its chart holds, and since when; a new failure may have the same text. */
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

  /** Must be called for every inspection event: notes decisions and timers. */
  readonly inspect = (event: InspectionEvent): void => {
    this.timers.note(event, this.#clock.wallNow());
    if (event.type !== '@xstate.microstep') return;
    const row = rowTaken(transitionsOfStep(event));
    if (row !== undefined) this.#rows.set(event.actorRef, row);
  };

  /** The table row that a server's chart took last, from 0. */
  lastRowOf(owner: object): number | undefined {
    return this.#rows.get(owner);
  }

  /** Must be called for every snapshot of every server, in order. */
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

  /** Forgets every server but these. The root bounds the number of removed servers among them. */
  retain(names: ReadonlySet<string>): void {
    for (const server of this.#histories.keys()) {
      if (!names.has(server)) this.#histories.delete(server);
    }
  }
}
