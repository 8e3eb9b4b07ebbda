/**
 * Ends requests that get no response in time, with one timer for all requests of a connection, set
 * for the earliest deadline on the injected clock. One of Node's timers would fire before any input is
 * read after the event loop was blocked, and fail a request whose response has already arrived.
 *
 * While the server waits for our answer to a question, its timeout is paused, within the caller's limit.
 */

import { type Clock, longestTimerMs } from '../domain/clock.ts';
import type { CallDeadline } from '../domain/session.ts';

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

/** A request's deadline, in monotonic milliseconds. Each `hold` is followed by one `release`. */
export abstract class Deadline {
  /** When the request's time runs out, if nothing happens before. */
  dueAt: number;
  /** Its place among the open ones; -1 if it is not open. */
  place = -1;
  readonly #deadlines: Deadlines;
  /** When the server's time ends, if it is not paused from now on. */
  #endAt: number;
  /** The time for answers to the server's questions that is left. */
  #questionsMs: number;
  readonly #silenceMs: number | undefined;
  /** The latest end that progress can grant. */
  #untilAt: number;
  /** Until when paused time has been accounted for, during a pause. */
  #pausedAt = 0;
  #holds = 0;

  constructor(deadlines: Deadlines, { deadlineAt, questionsMs = 0, renewal }: CallDeadline) {
    this.#deadlines = deadlines;
    this.dueAt = deadlineAt;
    this.#endAt = deadlineAt;
    this.#questionsMs = questionsMs;
    this.#silenceMs = renewal?.silenceMs;
    this.#untilAt = renewal?.untilAt ?? deadlineAt;
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
    const now = this.#account();
    this.#endAt = Math.min(now + this.#silenceMs, this.#untilAt);
    this.#schedule();
  }

  /** Moves the end by the time for which the server's time was paused until now. */
  #account(): number {
    const now = this.#deadlines.clock.now();
    if (this.#holds > 0) {
      const pausedMs = Math.min(now - this.#pausedAt, this.#questionsMs);
      this.#questionsMs -= pausedMs;
      this.#endAt += pausedMs;
      this.#untilAt += pausedMs;
    }
    this.#pausedAt = now;
    return now;
  }

  #schedule(): void {
    this.dueAt = this.#endAt + (this.#holds > 0 ? this.#questionsMs : 0);
    this.#deadlines.schedule(this);
  }
}
