/** When timers of charts were set, observed by inspection: charts do not know wall times. */

import type { AnyActorRef, InspectionEvent } from 'xstate';
import { builtInAction, machineIdOf } from '../../../machines/xstate-internals.ts';
import { longestTimerMs } from '../../domain/clock.ts';
import { delayNameOf } from '../../recorder/chart-names.ts';

/** A running timer. Wall times, milliseconds since 1970. */
export interface ChartTimer {
  /** Type of the event that it sends. */
  readonly id: string;
  readonly name: string;
  readonly totalMs: number;
  readonly enteredAtMs: number;
  readonly dueAtMs: number;
}

/** The charts of a server, of its session, and of what that invokes. */
const charts: ReadonlySet<unknown> = new Set(['server', 'session', 'refresh']);

export class ChartTimers {
  readonly #timers = new WeakMap<object, Map<string, ChartTimer>>();

  /** Must be called for every inspection event. */
  note(event: InspectionEvent, wallNowMs: number): void {
    if (event.type !== '@xstate.action') return;
    const action = builtInAction(event.action);
    if (action?.type === 'xstate.cancel') {
      this.#timers.get(event.actorRef)?.delete(action.params.sendId);
      return;
    }
    if (action?.type !== 'xstate.raise') return;
    const { event: raised, delay: totalMs, id = raised.type } = action.params;
    // A chart uses the longest delay to have no timer.
    if (totalMs === undefined || totalMs >= longestTimerMs) return;
    if (!charts.has(machineIdOf(event.actorRef as AnyActorRef))) return;
    const timers = this.#timers.get(event.actorRef) ?? new Map<string, ChartTimer>();
    const dueAtMs = wallNowMs + totalMs;
    timers.set(id, { id, name: delayNameOf(id) ?? id, totalMs, enteredAtMs: wallNowMs, dueAtMs });
    this.#timers.set(event.actorRef, timers);
  }

  /** The running timers of one actor. */
  of(actor: AnyActorRef, wallNowMs: number): readonly ChartTimer[] {
    const timers = this.#timers.get(actor)?.values() ?? [];
    return [...timers].filter(({ dueAtMs }) => dueAtMs > wallNowMs);
  }

  /** Those of a session and of the actors that it invoked. */
  ofSession(session: AnyActorRef, wallNowMs: number): readonly ChartTimer[] {
    const { children = {} } = session.getSnapshot() as {
      readonly children?: Readonly<Record<string, AnyActorRef | undefined>>;
    };
    return [session, ...Object.values(children)].flatMap((actor) =>
      actor === undefined ? [] : this.of(actor, wallNowMs),
    );
  }
}
