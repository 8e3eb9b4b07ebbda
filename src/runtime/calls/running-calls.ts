/**
 * Notifies a server's chart when calls begin and when the last one has ended. `calls.drained` is
 * sent after a second without calls, and the server's idle deadline counts from then on. A server
 * whose successor has taken over gets it immediately, because it is only waiting for its calls.
 */

import type { PresentUse } from '../../../machines/retention.ts';
import type { CallFact } from '../../../machines/server/server.ts';
import type { Clock } from '../../domain/clock.ts';
import type { SessionHandle } from '../../domain/session.ts';
import { type Retention, retain } from '../retention.ts';
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
  /** Waits for more calls; undefined until a call has ended. */
  retention: Retention | undefined;
  unwatch: (() => void) | undefined;
}

export class RunningCalls {
  readonly #ports: RunningCallsPorts;
  /** Servers, by session, that have received `calls.began` but not yet `calls.drained`. */
  readonly #work = new Map<SessionHandle, Work>();
  /** Calls of each server since the start, over all its sessions. */
  readonly #totals = new Map<string, number>();

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
    this.#work.set(handle, {
      view,
      count: 1,
      quietSince: 0,
      retention: undefined,
      unwatch: undefined,
    });
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
    if (work.count > 0) return;
    if (work.retention === undefined) this.#await(handle, work);
    else if (work.retention.isInUse) work.retention.useChanged();
  }

  /**
   * Stops waiting. Later ends are not reported, because every server is leaving. Returns the servers
   * that have running calls.
   */
  close(): readonly string[] {
    const busy = [...this.#work.values()].filter(({ count }) => count > 0);
    for (const [handle, work] of this.#work) this.#forget(handle, work);
    return busy.map(({ view }) => view.status.name);
  }

  /** Waits for more calls. Each status change, such as the session's end, may end the wait. */
  #await(handle: SessionHandle, work: Work): void {
    const { clock, board } = this.#ports;
    const { view } = work;
    work.unwatch = board.watch(view.status.name, () => {
      if (work.retention?.isInUse === false) work.retention.useChanged();
    });
    const use = (): PresentUse => ({
      isInUse: work.count > 0,
      unusedMs: clock.now() - work.quietSince,
      keptMs: this.#isAwaited(handle, view) ? quietMs : 0,
    });
    work.retention = retain(clock, use, () => {
      this.#forget(handle, work);
      if (!this.#isPresent(handle, view)) return;
      const calls = this.countOf(view.status.name);
      sendFact(view, { type: 'calls.drained', session: handle.session, calls });
    });
  }

  #isPresent(handle: SessionHandle, { actorId }: ServerView): boolean {
    return this.#ports.sessions.get(actorId) === handle;
  }

  /** Returns whether more calls may come: not if they now go to a successor. */
  #isAwaited(handle: SessionHandle, view: ServerView): boolean {
    const { actorId } = this.#ports.board.view(view.status.name) ?? view;
    return actorId === view.actorId && this.#isPresent(handle, view);
  }

  #forget(handle: SessionHandle, work: Work): void {
    work.retention?.release();
    work.unwatch?.();
    this.#work.delete(handle);
  }
}

/** Sends a fact to a server's chart, unless the chart has ended. */
export function sendFact({ ref }: ServerView, fact: CallFact): void {
  if (ref.getSnapshot().status === 'active') ref.send(fact);
}
