/**
 * Long-running calls. Their callers get a receipt and collect the result later. A background call
 * still ends at its deadline, by its caller's signal or with the troupe, and settles once.
 */

import type { Clock } from '../../domain/clock.ts';
import { printableLine } from '../../domain/data/printable.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import type { BackgroundCall, CallReport, WaitOptions } from '../troupe.ts';
import { waitOnce } from '../wait-once.ts';

/** A call that may move to the background. */
export interface FollowedCall {
  readonly server: string;
  readonly tool: string;
  readonly startedAt: number;
  /** The user of its client; empty without one. */
  readonly user: string;
  /** Number of times it has been sent. */
  readonly sends: () => number;
}

type End = { readonly report: CallReport } | { readonly error: unknown };

interface Entry {
  readonly call: FollowedCall;
  readonly since: string;
  end: End | undefined;
  endedAt: number;
  readonly waiting: Set<() => void>;
}

// As many as one server's active calls. Bounds the memory for a host that never collects.
const maxCalls = 64;
// No user of a gateway may take the places of the others, or displace what they have not collected.
const maxCallsOfUser = 16;
// An hour: a caller that has not collected the result by then will not come back for it.
const keptMs = 3_600_000;
const defaultWaitMs = 60_000;
const shownLength = 128;

export class BackgroundCalls {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Settles like the call, or with a receipt once the call has been running for `afterMs`. */
  follow(run: Promise<CallReport>, call: FollowedCall, afterMs: number): Promise<CallReport> {
    const clock = this.#clock;
    return new Promise((resolve) => {
      let timer: unknown;
      let entry: Entry | undefined;
      const look = (): void => {
        // A call that is still waiting for its server has nothing to collect yet.
        entry = call.sends() === 0 ? undefined : this.#add(call);
        if (entry === undefined) timer = clock.setTimeout(look, afterMs);
        else resolve(this.#receipt(call));
      };
      timer = clock.setTimeout(look, afterMs);
      const settle = (end: End): void => {
        clock.clearTimeout(timer);
        if (entry === undefined) {
          resolve(run);
          return;
        }
        entry.end = end;
        entry.endedAt = clock.now();
        for (const wake of [...entry.waiting]) wake();
      };
      run.then(
        (report) => settle({ report }),
        (error: unknown) => settle({ error }),
      );
    });
  }

  list(): readonly BackgroundCall[] {
    this.#forgetOld();
    return [...this.#entries].map(([id, { call, since, end }]) => ({
      id,
      server: call.server,
      tool: call.tool,
      since,
      state: end === undefined ? 'running' : 'report' in end ? 'done' : 'failed',
    }));
  }

  /**
   * Returns a call's result once. @throws the call's own error; `INVALID_ARGUMENTS`,
   * `TIMEOUT_WAITING`, `CANCELLED`.
   */
  async collect(
    id: string,
    { signal, timeoutMs = defaultWaitMs }: WaitOptions,
  ): Promise<CallReport> {
    this.#forgetOld();
    const entry = this.#entries.get(id);
    if (entry === undefined) throw unknownCall(id);
    if (entry.end === undefined && signal?.aborted !== true) {
      const deadlineAt = this.#clock.now() + timeoutMs;
      await waitOnce({ clock: this.#clock, signal, deadlineAt }, (wake) => {
        entry.waiting.add(wake);
        return () => entry.waiting.delete(wake);
      });
    }
    const { end } = entry;
    if (end === undefined) throw stillRunning(id, entry.call, signal?.aborted === true);
    // If several callers wait for the result, only one gets it.
    if (!this.#entries.delete(id)) throw unknownCall(id);
    if ('error' in end) throw end.error;
    return end.report;
  }

  #add(call: FollowedCall): Entry | undefined {
    this.#forgetOld();
    if (!this.#makeRoom(call)) return undefined;
    this.#count += 1;
    const since = new Date(this.#clock.wallNow()).toISOString();
    const entry: Entry = { call, since, end: undefined, endedAt: 0, waiting: new Set() };
    this.#entries.set(`call-${this.#count}`, entry);
    return entry;
  }

  /** Forgets an ended call if there are too many, of a user only an own one. Returns whether there is room. */
  #makeRoom({ user }: FollowedCall): boolean {
    const own = [...this.#entries].filter(([, { call }]) => user === '' || call.user === user);
    const isFull = this.#entries.size >= maxCalls || (user !== '' && own.length >= maxCallsOfUser);
    if (!isFull) return true;
    const [id] = own.find(([, { end }]) => end !== undefined) ?? [];
    return id !== undefined && this.#entries.delete(id);
  }

  #forgetOld(): void {
    const now = this.#clock.now();
    for (const [id, { end, endedAt }] of this.#entries) {
      if (end !== undefined && now - endedAt > keptMs) this.#entries.delete(id);
    }
  }

  #receipt({ server, tool, startedAt, sends }: FollowedCall): CallReport {
    const id = `call-${this.#count}`;
    const text = `Tool ${tool} of ${server} is still running and continues in the background as ${id}. Collect its result later with this id.`;
    return {
      result: { content: [{ type: 'text', text }] },
      meta: {
        server,
        tool,
        attempts: sends(),
        durationMs: Math.round(this.#clock.now() - startedAt),
        background: id,
      },
    };
  }
}

function unknownCall(id: string): TroupeError {
  return argumentsError(
    `There is no background call ${printableLine(id, shownLength)}: it was collected, or dropped an hour after it settled. List the others: troupe.backgroundCalls()`,
  );
}

function stillRunning(id: string, { server, tool }: FollowedCall, isAborted: boolean): TroupeError {
  return new TroupeError(
    isAborted ? 'CANCELLED' : 'TIMEOUT_WAITING',
    `Call ${id} of ${tool} on ${server} is still running. Collect it later.`,
    { server, tool, outcome: 'unknown', retryable: true },
  );
}
