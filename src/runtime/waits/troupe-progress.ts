/**
 * The troupe's progress: its state, its first and last pass, and the result of `ready()` that
 * follows from these.
 */

import type { TroupeEmitted } from '../../../machines/troupe/troupe.ts';
import type { Clock } from '../../domain/clock.ts';
import { defined } from '../../domain/data/defined.ts';
import type { ServerStatus, TroupeState, TroupeStatus } from '../../domain/host/status.ts';
import type { ServerPolicy } from '../../domain/policy.ts';
import { isOnItsWay, isUsable, needsUser } from '../../domain/server-state.ts';
import { troupeStateOf } from '../root-actor.ts';
import type { SharedPorts } from '../shared-ports.ts';
import type { RootSnapshot } from '../status/board.ts';
import type { StartReport } from '../troupe.ts';

export class TroupeProgress {
  readonly #clock: Clock;
  readonly #board: SharedPorts['board'];
  readonly #book: SharedPorts['book'];
  readonly #root: SharedPorts['root'];
  /** Wall time at which each state was entered; the troupe never returns to one. */
  readonly #enteredAt = new Map<TroupeState, number>();
  #firstPassAt: number | null = null;
  #wokenAt: number | null = null;
  #lastReconcile: TroupeStatus['lastReconcile'];
  #settleReady: (() => void) | undefined;
  /** Servers that were starting or stopping when all were last compared. */
  readonly #awaited = new Set<string>();
  readonly #blocking = new Set<string>();

  /** Resolves with the result of `Troupe.ready()`; never rejects. */
  readonly ready: Promise<StartReport>;

  /** @param startedAt - monotonic time in milliseconds from which `ready()` counts its duration */
  constructor(clock: Clock, startedAt: number, late: Pick<SharedPorts, 'book' | 'root' | 'board'>) {
    const { board } = late;
    this.#clock = clock;
    this.#board = board;
    this.#root = late.root;
    this.#book = late.book;
    this.#enteredAt.set('starting', clock.wallNow());
    this.ready = new Promise((settle) => {
      this.#settleReady = () => {
        this.#settleReady = undefined;
        settle(startReportOf(board().statuses(), Math.round(clock.now() - startedAt)));
      };
    });
  }

  get state(): TroupeState {
    const snapshot = this.#root().getSnapshot();
    // A root that broke has stopped everything.
    return snapshot.status === 'active' ? troupeStateOf(snapshot) : 'stopped';
  }

  isOver(): boolean {
    return this.state === 'stopped';
  }

  /**
   * Whether the settings have been read, or never will be. Until then, server names are unknown.
   */
  hasReadSettings(): boolean {
    return this.#firstPassAt !== null || this.state !== 'starting';
  }

  /**
   * Returns the monotonic time of the first pass, in milliseconds; until then, the current time.
   */
  firstPassAt(): number {
    return this.#firstPassAt ?? this.#clock.now();
  }

  status(): Pick<TroupeStatus, 'since' | 'state' | 'lastReconcile'> {
    const { state } = this;
    return {
      since: new Date(this.#enteredAt.get(state) ?? this.#clock.wallNow()).toISOString(),
      state,
      ...defined({ lastReconcile: this.#lastReconcile }),
    };
  }

  /** Handles a host event. The duration of passes that it causes counts from its beginning. */
  during(handle: () => void): void {
    this.#wokenAt = this.#clock.now();
    handle();
    this.#wokenAt = null;
  }

  /** Returns how long the pass took, in whole milliseconds. */
  noteReconciled({ changeCount, at }: Extract<TroupeEmitted, { type: 'reconciled' }>): number {
    const now = this.#clock.now();
    // Fractions of a millisecond would only clutter the line.
    const durationMs = Math.max(0, Math.round(now - (at ?? this.#wokenAt ?? now)));
    this.#lastReconcile = {
      at: new Date(this.#clock.wallNow()).toISOString(),
      steps: changeCount,
      durationMs,
    };
    return durationMs;
  }

  noteSnapshot(snapshot: RootSnapshot): void {
    // A pass before the settings have been read does not count.
    if (snapshot.context.settings !== null) this.#firstPassAt ??= this.#clock.now();
    this.#stamp();
  }

  /** Records that the troupe has ended; also resolves {@link ready}. */
  noteEnd(): void {
    this.#stamp();
    this.#settleReady?.();
  }

  /** Resolves {@link ready} if there is nothing left to wait for. */
  checkReady(): void {
    if (this.#settleReady === undefined) return;
    // Even without a first pass: settings that cannot be read must not keep a host waiting.
    const isGatePassed = this.state !== 'starting';
    const isAllSettled = this.#firstPassAt !== null && this.#areSettled(this.#awaited, isAwaited);
    const isHeldUp = this.state === 'running' && !this.#areSettled(this.#blocking, isBlocking);
    if ((isGatePassed && !isHeldUp) || isAllSettled) this.#settleReady();
  }

  /** Returns whether none of these servers is starting or stopping. */
  #areSettled(
    unsettled: Set<string>,
    isOf: (status: ServerStatus, startup: ServerPolicy['startup']) => boolean,
  ): boolean {
    const board = this.#board();
    const isUnsettled = (name: string): boolean => {
      const status = board.status(name);
      if (status === undefined || !isOnItsWay(status.state)) return false;
      return board.view(name) === undefined || isOf(status, this.#book.policyOf(name).startup);
    };
    // Looking at all servers whenever one changes would take quadratic time.
    for (const name of unsettled) {
      if (isUnsettled(name)) return false;
      unsettled.delete(name);
    }
    for (const { name } of board.statuses()) if (isUnsettled(name)) unsettled.add(name);
    return unsettled.size === 0;
  }

  #stamp(): void {
    const { state } = this;
    if (!this.#enteredAt.has(state)) this.#enteredAt.set(state, this.#clock.wallNow());
  }
}

/** Returns whether `ready()` waits for this server: it does for all except background servers. */
function isAwaited(_status: ServerStatus, { mode }: ServerPolicy['startup']): boolean {
  return mode !== 'background';
}

/**
 * Returns whether a server has no catalog and a policy that makes `ready()` wait for it however
 * long it takes.
 */
function isBlocking(status: ServerStatus, startup: ServerPolicy['startup']): boolean {
  return (
    isAwaited(status, startup) && status.catalog === 'none' && startup.withoutCache === 'block'
  );
}

/**
 * Sorts the servers by whether they can currently be used. Disabled and stopped servers are in no
 * list.
 */
function startReportOf(statuses: readonly ServerStatus[], elapsedMs: number): StartReport {
  const namesWhere = (matches: (status: ServerStatus) => boolean): string[] =>
    statuses.filter(matches).map(({ name }) => name);
  return {
    live: namesWhere(({ state }) => isUsable(state)),
    deferred: namesWhere(({ state, catalog }) => !isUsable(state) && catalog !== 'none'),
    pending: namesWhere(isPending),
    failed: statuses
      .filter(isFailed)
      .map(({ name, state, reason }) => ({ name, state, ...defined({ reason }) })),
    elapsedMs,
  };
}

function isPending({ state, catalog }: ServerStatus): boolean {
  return catalog === 'none' && (isOnItsWay(state) || state === 'dormant');
}

function isFailed({ state, catalog }: ServerStatus): boolean {
  if (catalog !== 'none') return false;
  return state === 'backingOff' || needsUser(state);
}
