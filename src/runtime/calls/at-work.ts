/**
 * Tells the charts when their calls begin and when no more come. A caller that
 * calls again and again is one stretch of work: `calls.drained` is told once a
 * server was without a call for a second, so an idle deadline counts from there.
 * One whose successor has taken over is told at once: it only waits for that.
 */

import type { CallFact } from '../../../machines/server/server.ts';
import type { Clock } from '../../domain/clock.ts';
import type { SessionHandle } from '../../domain/session.ts';
import type { SessionRegistry } from '../session-registry.ts';
import type { Sighting, StatusBoard } from '../status/board.ts';

export interface CallsAtWorkPorts {
  readonly clock: Clock;
  readonly board: StatusBoard;
  readonly sessions: SessionRegistry;
}

// One second: whoever calls in sequence is back long before, and against idle
// deadlines of minutes it is nothing. Told at every gap, the two facts and the
// look at the status that follows each would cost more than the call itself.
const quietMs = 1_000;

interface Work {
  readonly sighting: Sighting;
  count: number;
  /** Monotonic milliseconds at which the last call ended. */
  quietSince: number;
  /** Ends the wait for more calls; undefined = nobody waits. */
  endWait: (() => void) | undefined;
}

export class CallsAtWork {
  readonly #ports: CallsAtWorkPorts;
  /** By session: those that were told of a beginning, and not yet of an end. */
  readonly #work = new Map<SessionHandle, Work>();
  #isClosed = false;

  constructor(ports: CallsAtWorkPorts) {
    this.#ports = ports;
  }

  began(handle: SessionHandle, sighting: Sighting): void {
    const work = this.#work.get(handle);
    if (work !== undefined) {
      work.count += 1;
      return;
    }
    this.#work.set(handle, { sighting, count: 1, quietSince: 0, endWait: undefined });
    tell(sighting, { type: 'calls.began', session: handle.session });
  }

  ended(handle: SessionHandle): void {
    const work = this.#work.get(handle);
    if (work === undefined) return;
    work.count -= 1;
    if (work.count > 0) return;
    work.quietSince = this.#ports.clock.now();
    if (this.#isClosed || !this.#isOpen(handle, work)) this.#forget(handle, work);
    else if (this.#isRelieved(work)) this.#tellDrained(handle, work);
    else if (work.endWait === undefined) this.#wait(handle, work);
  }

  /** Stops waiting. What ends from now on is told to nobody: every server is leaving. */
  close(): void {
    this.#isClosed = true;
    for (const [handle, work] of this.#work) if (work.count === 0) this.#forget(handle, work);
  }

  #wait(handle: SessionHandle, work: Work): void {
    const { clock, board } = this.#ports;
    let timer: unknown;
    const look = (): void => {
      if (work.count > 0) {
        work.endWait?.();
        return;
      }
      const leftMs = work.quietSince + quietMs - clock.now();
      if (leftMs > 0) {
        timer = clock.setTimeout(look, leftMs);
        return;
      }
      this.#tellDrained(handle, work);
    };
    // A session that ends takes its timer along; its status changes with it.
    const unwatch = board.watch(work.sighting.status.name, () => {
      if (!this.#isOpen(handle, work)) this.#endWait(handle, work);
      else if (work.count === 0 && this.#isRelieved(work)) this.#tellDrained(handle, work);
    });
    work.endWait = () => {
      work.endWait = undefined;
      clock.clearTimeout(timer);
      unwatch();
    };
    timer = clock.setTimeout(look, quietMs);
  }

  #endWait(handle: SessionHandle, work: Work): void {
    if (work.count === 0) this.#forget(handle, work);
    else work.endWait?.();
  }

  #tellDrained(handle: SessionHandle, work: Work): void {
    this.#forget(handle, work);
    tell(work.sighting, { type: 'calls.drained', session: handle.session });
  }

  /** Calls go to a successor now: no more will come. */
  #isRelieved({ sighting }: Work): boolean {
    const present = this.#ports.board.sighting(sighting.status.name);
    return present !== undefined && present.actorId !== sighting.actorId;
  }

  #forget(handle: SessionHandle, work: Work): void {
    work.endWait?.();
    this.#work.delete(handle);
  }

  #isOpen(handle: SessionHandle, { sighting }: Work): boolean {
    return this.#ports.sessions.get(sighting.actorId) === handle;
  }
}

/** Tells a server's chart. One that has ended meanwhile needs no news. */
export function tell({ ref }: Sighting, fact: CallFact): void {
  if (ref.getSnapshot().status === 'active') ref.send(fact);
}
