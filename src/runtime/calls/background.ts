/**
 * Long-running calls. Their callers get a receipt and collect the result later. A background call
 * still ends at its deadline, by its caller's signal or with the troupe, and settles once.
 */

import type { PresentUse } from '../../../machines/retention.ts';
import { type Clock, startDeadline } from '../../domain/clock.ts';
import { printableLine } from '../../domain/data/printable.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import { type Retention, retain } from '../retention.ts';
import type { BackgroundCall, CallReport, WaitOptions } from '../troupe.ts';
import { waitOnce } from '../wait-once.ts';

/** A call that may move to the background. */
export interface FollowedCall {
  readonly server: string;
  readonly tool: string;
  /** The tool's name as its caller sees it. */
  readonly shownTool: string;
  readonly startedAt: number;
  /** The user of its client; empty without one. */
  readonly user: string;
  /** The view through which it was made; only there can it be seen and collected. */
  readonly view?: object | undefined;
  /** Number of times it has been sent. */
  readonly sends: () => number;
}

type End = { readonly report: CallReport } | { readonly error: unknown };

interface Entry {
  readonly call: FollowedCall;
  readonly since: string;
  end: End | undefined;
  endedAt: number;
  retention?: Retention;
  readonly waiting: Set<() => void>;
}

// As many as one server's active calls. Bounds the memory for a host that never collects.
const maxCalls = 64;
// No user of a gateway may take the places of the others, or displace what they have not collected.
const maxCallsOfUser = 16;
// An hour, its last millisecond included: a caller that has not come for the result by then will not.
const keptMs = 3_600_001;
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
    return new Promise((resolve) => {
      let endLimit = (): void => undefined;
      const begin = (): void => {
        endLimit = startDeadline(this.#clock, afterMs, () => {
          // A call that is still waiting for its server has nothing to collect yet.
          if (call.sends() > 0 && this.#keep(run, call)) resolve(this.#receipt(call));
          else begin();
        });
      };
      begin();
      const settle = (): void => {
        endLimit();
        resolve(run);
      };
      run.then(settle, settle);
    });
  }

  /** Lists the calls of a view; all of them without one. */
  list(view?: object): readonly BackgroundCall[] {
    const own = [...this.#entries].filter(([, { call }]) => isIn(view, call));
    return own.map(([id, { call, since, end }]) => ({
      id,
      server: call.server,
      tool: view === undefined ? call.tool : call.shownTool,
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
    view?: object,
  ): Promise<CallReport> {
    const entry = this.#entries.get(id);
    if (entry === undefined || !isIn(view, entry.call)) throw unknownCall(id);
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
    if (!this.#forget(id)) throw unknownCall(id);
    if ('error' in end) throw end.error;
    return end.report;
  }

  /** Keeps a call's result from now on. Returns whether there is room. */
  #keep(run: Promise<CallReport>, call: FollowedCall): boolean {
    if (!this.#makeRoom(call)) return false;
    const clock = this.#clock;
    this.#count += 1;
    const id = `call-${this.#count}`;
    const since = new Date(clock.wallNow()).toISOString();
    const use = (): PresentUse => ({
      isInUse: entry.end === undefined,
      unusedMs: clock.now() - entry.endedAt,
      keptMs,
    });
    const entry: Entry = { call, since, end: undefined, endedAt: 0, waiting: new Set() };
    entry.retention = retain(clock, use, () => this.#entries.delete(id));
    this.#entries.set(id, entry);
    const settle = (end: End): void => {
      entry.end = end;
      entry.endedAt = clock.now();
      entry.retention?.useChanged();
      for (const wake of [...entry.waiting]) wake();
    };
    run.then(
      (report) => settle({ report }),
      (error: unknown) => settle({ error }),
    );
    return true;
  }

  /** Forgets an ended call if there are too many, of a user only an own one. Returns whether there is room. */
  #makeRoom({ user }: FollowedCall): boolean {
    const own = [...this.#entries].filter(([, { call }]) => user === '' || call.user === user);
    const isFull = this.#entries.size >= maxCalls || (user !== '' && own.length >= maxCallsOfUser);
    if (!isFull) return true;
    const [id] = own.find(([, { end }]) => end !== undefined) ?? [];
    return id !== undefined && this.#forget(id);
  }

  /** Sets no more timers; results stay until they are collected. */
  close(): void {
    for (const { retention } of this.#entries.values()) retention?.release();
  }

  #forget(id: string): boolean {
    this.#entries.get(id)?.retention?.release();
    return this.#entries.delete(id);
  }

  #receipt({ server, shownTool: tool, startedAt, sends }: FollowedCall): CallReport {
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

function isIn(view: object | undefined, call: FollowedCall): boolean {
  return view === undefined || call.view === view;
}

function unknownCall(id: string): TroupeError {
  return argumentsError(
    `There is no background call ${printableLine(id, shownLength)}: it was collected, or dropped an hour after it settled. List the others: troupe.backgroundCalls()`,
  );
}

function stillRunning(
  id: string,
  { server, shownTool: tool }: FollowedCall,
  isAborted: boolean,
): TroupeError {
  return new TroupeError(
    isAborted ? 'CANCELLED' : 'TIMEOUT_WAITING',
    `Call ${id} of ${tool} on ${server} is still running. Collect it later.`,
    { server, tool, outcome: 'unknown', retryable: true },
  );
}
