/**
 * Limits how much unsolicited input a server may send on one connection.
 *
 * Everything read is charged as work, except responses to our own requests, whose number is bounded
 * by those requests. Over budget, reading pauses, so that the pipe or socket slows the server down.
 * Notifications and requests have their own, lower limits: notifications beyond the limit are
 * dropped, requests are refused. The chart decides whether to disconnect a server that stays over
 * its budget.
 */

import type { Clock } from '../../../src/domain/clock.ts';
import type { Failure } from '../../../src/domain/failure.ts';
import { Episode } from '../../../src/policies/episode.ts';
import { TokenBucket } from '../../../src/policies/token-bucket.ts';

export interface InputEvents {
  /** Called when the server exceeds a limit: the excess is dropped, refused or delayed. */
  flooded(failure: Failure): void;
  /**
   * Called when the server has stayed within its limits for a while. `hasMissed`: notifications
   * were dropped.
   */
  calmed(hasMissed: boolean): void;
  /**
   * Called when reading pauses repeatedly because the server sends faster than its budget allows,
   * and again about once a second while that lasts.
   */
  paused(): void;
  /** Called when a second has passed without a pause. */
  resumed(): void;
}

// A server that reports progress three times a second for each of 64 calls stays below this.
const notificationsPerSecond = 200;
// Servers ask for sampling or elicitation now and then; a request costs ten times as much as a
// notification.
export const requestsPerSecond = 200;
// One unit is about 2 µs, so a server that floods us takes about 2 % of a core.
const workPerSecond = 10_000;
// A burst of 40,000 log lines, or of two messages of maximum size, is read without a pause.
const workBurst = 40_000;
// About half a millisecond, after which other servers get their turn.
const workPerTurn = 256;
// Shorter pauses only cost timers; longer ones delay a server that has calmed down.
const minPauseMs = 20;
const maxPauseMs = 1_000;

// One second without a flood ends it. A server that soon floods again must stay calm for longer, so
// that its status and lists do not flap.
const shortestCalmMs = 1_000;
const longestCalmMs = 60_000;

export class InputBudget {
  readonly #clock: Clock;
  /** Undefined once the connection has ended. */
  #events: InputEvents | undefined;
  /** Undefined once the server will write no more. */
  #work: TokenBucket | undefined = new TokenBucket(workPerSecond, workBurst);
  // Most servers need none of these.
  #notifications: TokenBucket | undefined;
  #requests: TokenBucket | undefined;
  #flood: FollowedEpisode | undefined;
  #pauses: FollowedEpisode | undefined;
  #turnWork = 0;
  /** Whether the work may exceed what was allowed; only more work can bring that about. */
  #mayOwe = false;
  #hasMissed = false;
  #failure: Failure | undefined;
  #waiting: Map<unknown, () => void> | undefined;

  constructor(clock: Clock, events: InputEvents) {
    this.#clock = clock;
    this.#events = events;
  }

  charge(work: number): void {
    this.#turnWork += work;
    this.#mayOwe = this.#work?.take(work, this.#clock.now()) === false;
  }

  admitsNotification(): boolean {
    this.#notifications ??= new TokenBucket(notificationsPerSecond, notificationsPerSecond);
    if (this.#notifications.tryTake(this.#clock.now())) return true;
    this.#hasMissed = true;
    this.noteFlood(
      `The server sends more than ${notificationsPerSecond} notifications a second; the rest is dropped.`,
    );
    return false;
  }

  admitsRequest(): boolean {
    this.#requests ??= new TokenBucket(requestsPerSecond, requestsPerSecond);
    if (this.#requests.tryTake(this.#clock.now())) return true;
    this.noteFlood(
      `The server sends more than ${requestsPerSecond} requests a second; the rest is refused.`,
    );
    return false;
  }

  /** Records that a limit was exceeded; the message is reported if this begins a flood. */
  noteFlood(message: string): void {
    if (this.#events === undefined) return;
    this.#failure = { kind: 'protocol', message };
    this.#flood ??= this.#createFlood();
    this.#flood.note();
  }

  /**
   * Called when the server will write no more: the remaining input is bounded and is read without
   * pauses.
   */
  drain(): void {
    this.#work = undefined;
    this.#wake();
  }

  /** Whether reading has to stop until {@link whenFree} calls back. */
  get isSpent(): boolean {
    return this.#turnWork >= workPerTurn || this.#debtMs() > 0;
  }

  /** Calls back once, in a later turn of the event loop, when reading may continue. */
  whenFree(callback: () => void): void {
    this.#turnWork = 0;
    const waitMs = this.#debtMs();
    if (waitMs === 0) {
      setImmediate(callback);
      return;
    }
    this.#notePause();
    const pauseMs = Math.min(Math.max(waitMs, minPauseMs), maxPauseMs);
    const timer = this.#clock.setTimeout(() => {
      this.#waiting?.delete(timer);
      // The calm period begins when the pause ends.
      this.#notePause();
      callback();
    }, pauseMs);
    this.#waiting ??= new Map();
    this.#waiting.set(timer, callback);
  }

  #notePause(): void {
    this.noteFlood('The server sends faster than it may be read; reading pauses.');
    if (this.#events === undefined) return;
    this.#pauses ??= this.#createPauses();
    this.#pauses.note();
  }

  #createFlood(): FollowedEpisode {
    return new FollowedEpisode(this.#clock, longestCalmMs, {
      began: () => this.#failure && this.#events?.flooded(this.#failure),
      wentOn: () => {},
      ended: () => {
        const hasMissed = this.#hasMissed;
        this.#hasMissed = false;
        this.#events?.calmed(hasMissed);
      },
    });
  }

  #createPauses(): FollowedEpisode {
    return new FollowedEpisode(this.#clock, shortestCalmMs, {
      began: () => this.#events?.paused(),
      wentOn: () => this.#events?.paused(),
      ended: () => this.#events?.resumed(),
    });
  }

  /** Like {@link whenFree}, but returns a promise; undefined when reading may continue at once. */
  free(): Promise<void> | undefined {
    return this.isSpent ? new Promise((resolve) => this.whenFree(resolve)) : undefined;
  }

  /** Ends every flood because the connection has ended; pending readers continue at once. */
  stop(): void {
    this.#flood?.stop();
    this.#pauses?.stop();
    this.#events = undefined;
    this.#wake();
  }

  #debtMs(): number {
    return this.#mayOwe ? (this.#work?.waitMs(this.#clock.now()) ?? 0) : 0;
  }

  #wake(): void {
    for (const [timer, callback] of [...(this.#waiting ?? [])]) {
      this.#waiting?.delete(timer);
      this.#clock.clearTimeout(timer);
      callback();
    }
  }
}

type EpisodeListeners = Record<'began' | 'wentOn' | 'ended', () => void>;

/** Checks an episode again when it may have ended, and reports whether it has. */
class FollowedEpisode {
  readonly #clock: Clock;
  readonly #episode: Episode;
  readonly #listeners: EpisodeListeners;
  #timer: unknown;

  constructor(clock: Clock, longestMs: number, listeners: EpisodeListeners) {
    this.#clock = clock;
    this.#episode = new Episode(shortestCalmMs, longestMs);
    this.#listeners = listeners;
  }

  note(): void {
    if (!this.#episode.note(this.#clock.now())) return;
    this.#check();
    this.#listeners.began();
  }

  stop(): void {
    if (this.#timer === undefined) return;
    this.#clock.clearTimeout(this.#timer);
    this.#listeners.ended();
  }

  #check(onStillRunning?: () => void): void {
    const leftMs = this.#episode.leftMs(this.#clock.now());
    this.#timer = undefined;
    if (leftMs === 0) return this.#listeners.ended();
    this.#timer = this.#clock.setTimeout(() => this.#check(this.#listeners.wentOn), leftMs);
    onStillRunning?.();
  }
}
