/** When the timers of sessions were set, seen by inspection: charts cannot know wall times. */

import type { AnyActorRef, InspectionEvent } from 'xstate';
import { builtInAction, machineIdOf } from '../../../machines/xstate-internals.ts';
import { longestTimerMs } from '../../domain/clock.ts';
import { delayNameOf } from '../../recorder/chart-names.ts';

/** A timer that runs. Wall times, milliseconds since 1970. */
export interface SessionTimer {
  readonly name: string;
  readonly totalMs: number;
  readonly enteredAtMs: number;
  readonly dueAtMs: number;
}

/** The charts of a session and of what it invokes. */
const sessionCharts: ReadonlySet<unknown> = new Set(['session', 'refresh']);

export class SessionTimers {
  readonly #timers = new WeakMap<object, Map<string, SessionTimer>>();

  /** Has to see every inspection event. */
  note(event: InspectionEvent, wallNowMs: number): void {
    if (event.type !== '@xstate.action') return;
    const action = builtInAction(event.action);
    if (action?.type === 'xstate.cancel') {
      this.#timers.get(event.actorRef)?.delete(action.params.sendId);
      return;
    }
    if (action?.type !== 'xstate.raise') return;
    const { event: raised, delay: totalMs, id = raised.type } = action.params;
    // The longest delay is a chart's way to have no timer.
    if (totalMs === undefined || totalMs >= longestTimerMs) return;
    if (!sessionCharts.has(machineIdOf(event.actorRef as AnyActorRef))) return;
    const timers = this.#timers.get(event.actorRef) ?? new Map<string, SessionTimer>();
    const dueAtMs = wallNowMs + totalMs;
    timers.set(id, { name: delayNameOf(id) ?? id, totalMs, enteredAtMs: wallNowMs, dueAtMs });
    this.#timers.set(event.actorRef, timers);
  }

  /** Those of a session and of the actors that it invoked. */
  running(session: AnyActorRef, wallNowMs: number): readonly SessionTimer[] {
    const { children = {} } = session.getSnapshot() as {
      readonly children?: Readonly<Record<string, AnyActorRef | undefined>>;
    };
    return [session, ...Object.values(children)]
      .flatMap((actor) =>
        actor === undefined ? [] : [...(this.#timers.get(actor)?.values() ?? [])],
      )
      .filter(({ dueAtMs }) => dueAtMs > wallNowMs);
  }
}
