import type { ServerPolicy } from '../../domain/policy.ts';
import { type SetTimer, timersOf } from '../status/server-chart.ts';
import type { ServerSnapshot } from '../status/status-of.ts';

interface Stamp {
  readonly timer: SetTimer;
  /** Wall time, milliseconds since 1970. */
  readonly atMs: number;
}

/** A timer that runs, and since when. Wall times, milliseconds since 1970. */
export interface StampedTimer extends SetTimer {
  readonly enteredAtMs: number;
  readonly dueAtMs: number;
}

/**
 * Remembers when the timers of one server were set, which a chart cannot know.
 * It has to see every snapshot of one actor, in their order.
 */
export class TimerStamps {
  #stamps: ReadonlyMap<string, Stamp> = new Map();
  #policy: ServerPolicy | undefined;

  observe(snapshot: ServerSnapshot, wallNowMs: number): void {
    const { policy } = snapshot.context;
    const isNewPolicy = this.#policy !== policy;
    this.#policy = policy;
    this.#stamps = new Map(
      timersOf(snapshot).map((timer) => {
        const before = this.#stamps.get(timer.id);
        // A timer that runs keeps its length, whatever the settings say meanwhile.
        const goesOn = before !== undefined && !(isNewPolicy && timer.followsSettings);
        return [timer.id, goesOn ? before : { timer, atMs: wallNowMs }];
      }),
    );
  }

  /** The soonest first. One that fired and left its state where it was runs no more. */
  running(wallNowMs: number): readonly StampedTimer[] {
    return [...this.#stamps.values()]
      .map(({ timer, atMs }) => {
        const { totalMs, isPeriodic } = timer;
        const rounds = isPeriodic ? Math.floor((wallNowMs - atMs) / Math.max(1, totalMs)) : 0;
        const enteredAtMs = atMs + rounds * totalMs;
        return { ...timer, enteredAtMs, dueAtMs: enteredAtMs + totalMs };
      })
      .filter(({ dueAtMs }) => dueAtMs > wallNowMs)
      .sort((left, right) => left.dueAtMs - right.dueAtMs);
  }
}
