/**
 * Notifies a server's chart when calls begin and when the last one has ended. `calls.drained` is
 * sent after a second without calls, and the server's idle deadline counts from then on. A server
 * whose successor has taken over gets it immediately, because it is only waiting for its calls.
 */

import type { CallFact } from '../../../machines/server/server.ts';
import type { Clock } from '../../domain/clock.ts';
import type { SessionHandle } from '../../domain/session.ts';
import type { SessionRegistry } from '../session-registry.ts';
import type { ServerView, StatusBoard } from '../status/board.ts';

export interface RunningCallsPorts {
  readonly clock: Clock;
  readonly board: StatusBoard;
  readonly sessions: SessionRegistry;
}

// One second: gaps between consecutive calls are shorter, and idle deadlines are minutes. Two
// events and two status updates for each call would cost more than the call.
const quietMs = 1_000;

interface Work {
  readonly view: ServerView;
  count: number;
  /** Monotonic time in milliseconds at which the last call ended. */
  quietSince: number;
  /** Ends the wait for more calls; undefined if nothing is waiting. */
  endWait: (() => void) | undefined;
}

export class RunningCalls {
  readonly #ports: RunningCallsPorts;
  /** Servers, by session, that have received `calls.began` but not yet `calls.drained`. */
  readonly #work = new Map<SessionHandle, Work>();
  /** Calls of each server since the start, over all its sessions. */
  readonly #totals = new Map<string, number>();
  #isClosed = false;

  constructor(ports: RunningCallsPorts) {
    this.#ports = ports;
  }

  began(handle: SessionHandle, view: ServerView): void {
    const { name } = view.status;
    const calls = this.countOf(name) + 1;
    this.#totals.set(name, calls);
    const work = this.#work.get(handle);
    if (work !== undefined) {
      work.count += 1;
      return;
    }
    this.#work.set(handle, { view, count: 1, quietSince: 0, endWait: undefined });
    sendFact(view, { type: 'calls.began', session: handle.session, calls });
  }

  /** Returns the number of calls of a server since the start. */
  countOf(server: string): number {
    return this.#totals.get(server) ?? 0;
  }

  ended(handle: SessionHandle, now: number): void {
    const work = this.#work.get(handle);
    if (work === undefined) return;
    work.count -= 1;
    work.quietSince = now;
    if (work.count === 0) this.#check(handle, work, now);
  }

  /** Stops waiting. Later ends are not reported, because every server is leaving. */
  close(): void {
    this.#isClosed = true;
    for (const [handle, work] of this.#work) if (work.count === 0) this.#forget(handle, work);
  }

  /** Waits for more calls, or decides that there will be none. */
  #check(handle: SessionHandle, work: Work, now: number): void {
    const { view, quietSince } = work;
    const { name } = view.status;
    if (work.count > 0) return work.endWait?.();
    if (this.#isClosed || this.#ports.sessions.get(view.actorId) !== handle)
      return this.#forget(handle, work);
    const present = this.#ports.board.view(name);
    // Calls now go to a successor.
    const isReplaced = present !== undefined && present.actorId !== view.actorId;
    const leftMs = quietSince + quietMs - now;
    if (!isReplaced && leftMs > 0) {
      work.endWait ??= this.#wait(handle, work, leftMs);
      return;
    }
    this.#forget(handle, work);
    sendFact(view, { type: 'calls.drained', session: handle.session, calls: this.countOf(name) });
  }

  /** Checks again after this time and at each status change, such as the session's end. */
  #wait(handle: SessionHandle, work: Work, leftMs: number): () => void {
    const { clock, board } = this.#ports;
    const check = (): void => this.#check(handle, work, clock.now());
    const timer = clock.setTimeout(() => {
      work.endWait?.();
      check();
    }, leftMs);
    const unwatch = board.watch(work.view.status.name, check);
    return () => {
      work.endWait = undefined;
      clock.clearTimeout(timer);
      unwatch();
    };
  }

  #forget(handle: SessionHandle, work: Work): void {
    work.endWait?.();
    this.#work.delete(handle);
  }
}

/** Sends a fact to a server's chart, unless the chart has ended. */
export function sendFact({ ref }: ServerView, fact: CallFact): void {
  if (ref.getSnapshot().status === 'active') ref.send(fact);
}
