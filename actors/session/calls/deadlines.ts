/**
 * Ends requests that get no response in time, with one timer for all requests of a connection, set
 * for the earliest deadline on the injected clock. One of Node's timers would fire before any input is
 * read after the event loop was blocked, and fail a request whose response has already arrived.
 *
 * While the server waits for our answer to a question, its timeout is paused, within the caller's limit.
 */

import { type Clock, longestTimerMs } from '../../../src/domain/clock.ts';
import type { SessionCallOptions } from '../../../src/domain/session.ts';

/**
 * Keeps requests in places instead of a Set: once a Set is old, V8 allocates each of its tables among
 * the old objects, and an abandoned table keeps all that its requests refer to until the next full
 * collection.
 */
export class Deadlines<Kind extends Deadline = Deadline> {
  readonly clock: Clock;
  readonly #open: (Kind | undefined)[] = [];
  readonly #free: number[] = [];
  #timer: unknown;
  /** When the timer fires; Infinity while there is none. */
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  at(place: number): Kind | undefined {
    return this.#open[place];
  }

  add(deadline: Kind): void {
    deadline.place = this.#free.pop() ?? this.#open.length;
    this.#open[deadline.place] = deadline;
    this.schedule(deadline);
  }

  /** Stops a deadline; nothing starts it again. */
  remove(deadline: Kind): void {
    const { place } = deadline;
    if (place < 0) return;
    deadline.place = -1;
    this.#open[place] = undefined;
    this.#free.push(place);
    if (this.#free.length === this.#open.length) this.#stopTimer();
  }

  /** Makes the timer fire no later than a deadline, unless that was removed. */
  schedule({ dueAt, place }: Deadline): void {
    if (dueAt < this.#timerAt && place >= 0) this.#setTimer(dueAt);
  }

  #setTimer(dueAt: number): void {
    this.#stopTimer();
    this.#timerAt = dueAt;
    const delayMs = Math.min(Math.max(0, dueAt - this.clock.now()), longestTimerMs);
    this.#timer = this.clock.setTimeout(() => this.#endLate(), delayMs);
  }

  #stopTimer(): void {
    if (this.#timer !== undefined) this.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  #endLate(): void {
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.clock.now();
    let nextAt = Number.POSITIVE_INFINITY;
    for (const deadline of [...this.#open]) {
      if (deadline === undefined || deadline.place < 0) continue;
      if (deadline.dueAt > now) nextAt = Math.min(nextAt, deadline.dueAt);
      else {
        this.remove(deadline);
        deadline.onLate();
      }
    }
    if (nextAt < this.#timerAt && this.#free.length < this.#open.length) this.#setTimer(nextAt);
  }
}

/** A request's time, in milliseconds. Each `hold` is followed by one `release`. */
export abstract class Deadline {
  /** Monotonic time at which the request's time runs out. */
  dueAt: number;
  /** Its place among the open ones; -1 if it is not open. */
  place = -1;
  readonly #deadlines: Deadlines;
  /** The server's time. */
  #leftMs: number;
  /** Time for answers to the server's questions; anything beyond it consumes the server's time. */
  #questionsMs: number;
  /** The latest time to which renewals can extend the request. */
  #untilMs: number;
  /** The server's time after each progress notification; undefined if progress changes nothing. */
  readonly #silenceMs: number | undefined;
  #since: number;
  #holds = 0;

  constructor(
    deadlines: Deadlines,
    {
      timeoutMs,
      questionsMs = 0,
      renewal,
    }: Pick<SessionCallOptions, 'timeoutMs' | 'questionsMs' | 'renewal'>,
  ) {
    this.#deadlines = deadlines;
    this.#leftMs = timeoutMs;
    this.#questionsMs = questionsMs;
    this.#untilMs = renewal?.untilMs ?? timeoutMs;
    this.#silenceMs = renewal?.silenceMs;
    this.#since = deadlines.clock.now();
    this.dueAt = this.#since + timeoutMs;
  }

  /** Called once, when the time has run out. */
  abstract onLate(): void;

  /** Whether progress extends the request. */
  protected get isRenewable(): boolean {
    return this.#silenceMs !== undefined;
  }

  /** Stops the server's time. */
  hold(): void {
    this.#account();
    this.#holds += 1;
    this.#schedule();
  }

  release(): void {
    this.#account();
    this.#holds -= 1;
    this.#schedule();
  }

  /** Called when the server reports progress: its time starts again. */
  renew(): void {
    if (this.#silenceMs === undefined) return;
    this.#account();
    this.#leftMs = Math.min(this.#silenceMs, this.#untilMs);
    this.#schedule();
  }

  #account(): void {
    const now = this.#deadlines.clock.now();
    const elapsedMs = now - this.#since;
    this.#since = now;
    const free = this.#holds > 0 ? Math.min(elapsedMs, this.#questionsMs) : 0;
    this.#questionsMs -= free;
    this.#leftMs -= elapsedMs - free;
    this.#untilMs -= elapsedMs - free;
  }

  #schedule(): void {
    this.dueAt = this.#since + this.#leftMs + (this.#holds > 0 ? this.#questionsMs : 0);
    this.#deadlines.schedule(this);
  }
}
