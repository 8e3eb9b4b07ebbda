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
    if (work.count > 0) return;
    work.quietSince = now;
    if (this.#isClosed || !this.#isOpen(handle, work)) this.#forget(handle, work);
    else if (this.#isReplaced(work)) this.#reportDrained(handle, work);
    else if (work.endWait === undefined) this.#wait(handle, work);
  }

  /** Stops waiting. Later ends are not reported, because every server is leaving. */
  close(): void {
    this.#isClosed = true;
    for (const [handle, work] of this.#work) if (work.count === 0) this.#forget(handle, work);
  }

  #wait(handle: SessionHandle, work: Work): void {
    const { clock, board } = this.#ports;
    let timer: unknown;
    const check = (): void => {
      if (work.count > 0) {
        work.endWait?.();
        return;
      }
      const leftMs = work.quietSince + quietMs - clock.now();
      if (leftMs > 0) {
        timer = clock.setTimeout(check, leftMs);
        return;
      }
      this.#reportDrained(handle, work);
    };
    // A session's end appears as a status change, and ends this timer.
    const unwatch = board.watch(work.view.status.name, () => {
      if (work.count > 0) {
        if (!this.#isOpen(handle, work)) work.endWait?.();
      } else if (!this.#isOpen(handle, work)) this.#forget(handle, work);
      else if (this.#isReplaced(work)) this.#reportDrained(handle, work);
    });
    work.endWait = () => {
      work.endWait = undefined;
      clock.clearTimeout(timer);
      unwatch();
    };
    timer = clock.setTimeout(check, quietMs);
  }

  #reportDrained(handle: SessionHandle, work: Work): void {
    this.#forget(handle, work);
    const { session } = handle;
    const calls = this.countOf(work.view.status.name);
    sendFact(work.view, { type: 'calls.drained', session, calls });
  }

  /** Returns whether calls now go to a successor, so that this server gets no more. */
  #isReplaced({ view }: Work): boolean {
    const present = this.#ports.board.view(view.status.name);
    return present !== undefined && present.actorId !== view.actorId;
  }

  #forget(handle: SessionHandle, work: Work): void {
    work.endWait?.();
    this.#work.delete(handle);
  }

  #isOpen(handle: SessionHandle, { view }: Work): boolean {
    return this.#ports.sessions.get(view.actorId) === handle;
  }
}

/** Sends a fact to a server's chart, unless the chart has ended. */
export function sendFact({ ref }: ServerView, fact: CallFact): void {
  if (ref.getSnapshot().status === 'active') ref.send(fact);
}
