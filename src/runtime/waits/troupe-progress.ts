/**
 * How far a troupe is: its state, its first pass over the settings, its last pass,
 * and with them the one answer of `ready()`.
 */

import type { TroupeEmitted } from '../../../machines/troupe/troupe.ts';
import type { Clock } from '../../domain/clock.ts';
import type { ServerStatus, TroupeState, TroupeStatus } from '../../domain/host/status.ts';
import { isOnItsWay, isUsable, needsUser } from '../../domain/server-state.ts';
import { troupeStateOf } from '../root-actor.ts';
import type { RootSnapshot, StatusBoard } from '../status/board.ts';
import type { StartReport } from '../troupe.ts';

export class TroupeProgress {
  readonly #clock: Clock;
  readonly #board: () => StatusBoard;
  #state: TroupeState = 'starting';
  #sinceMs: number;
  #firstPassAt: number | null = null;
  #wokenAt: number | null = null;
  #lastReconcile: TroupeStatus['lastReconcile'];
  #settleReady: (() => void) | undefined;

  /** Settles once, when the host may go on; never rejects. */
  readonly ready: Promise<StartReport>;

  /** `startedAt`: monotonic milliseconds, from which `ready()` tells how long it took. */
  constructor(clock: Clock, startedAt: number, board: () => StatusBoard) {
    this.#clock = clock;
    this.#board = board;
    this.#sinceMs = clock.wallNow();
    this.ready = new Promise((settle) => {
      this.#settleReady = () => {
        this.#settleReady = undefined;
        settle(startReportOf(board().statuses(), Math.round(clock.now() - startedAt)));
      };
    });
  }

  get state(): TroupeState {
    return this.#state;
  }

  isOver(): boolean {
    return this.#state === 'stopped';
  }

  /** Says whether the settings were read, or never will be. Before that, names mean nothing. */
  hasLooked(): boolean {
    return this.#firstPassAt !== null || this.#state !== 'starting';
  }

  /** Monotonic milliseconds of the first pass; until then, of now. */
  firstPassAt(): number {
    return this.#firstPassAt ?? this.#clock.now();
  }

  status(): Pick<TroupeStatus, 'since' | 'state' | 'lastReconcile'> {
    return {
      since: new Date(this.#sinceMs).toISOString(),
      state: this.#state,
      ...(this.#lastReconcile === undefined ? {} : { lastReconcile: this.#lastReconcile }),
    };
  }

  /** Runs an order of the host: passes within it count from its beginning. */
  during(order: () => void): void {
    this.#wokenAt = this.#clock.now();
    order();
    this.#wokenAt = null;
  }

  /** Returns how long the pass took, in whole milliseconds. */
  noteReconciled({ plan, at }: Extract<TroupeEmitted, { type: 'reconciled' }>): number {
    const now = this.#clock.now();
    // Parts of a millisecond tell nobody anything, and fill a line with digits.
    const durationMs = Math.max(0, Math.round(now - (at ?? this.#wokenAt ?? now)));
    this.#lastReconcile = {
      at: new Date(this.#clock.wallNow()).toISOString(),
      steps: plan.filter(({ step }) => step !== 'keep').length,
      durationMs,
    };
    return durationMs;
  }

  noteSnapshot(snapshot: RootSnapshot): void {
    // A pass before the settings were read looks at nothing.
    if (snapshot.context.settings !== null) this.#firstPassAt ??= this.#clock.now();
    this.#enter(troupeStateOf(snapshot));
  }

  /** The last word, also for those who still wait for {@link ready}. */
  noteEnd(): void {
    this.#enter('stopped');
    this.#settleReady?.();
  }

  /** Lets the host go on when there is nothing left to wait for. */
  checkReady(): void {
    if (this.#settleReady === undefined) return;
    const board = this.#board();
    // Also without a first pass: settings that cannot be read must not keep a host waiting.
    const isGatePassed = this.#state !== 'starting';
    const isAllSettled = this.#firstPassAt !== null && areSettled(awaitedStatuses(board));
    const isHeldUp = this.#state === 'running' && !areSettled(blockingStatuses(board));
    if ((isGatePassed && !isHeldUp) || isAllSettled) this.#settleReady();
  }

  #enter(state: TroupeState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#sinceMs = this.#clock.wallNow();
  }
}

/** The servers that `ready()` waits for: all but those that start in the background. */
function awaitedStatuses(board: StatusBoard): readonly ServerStatus[] {
  const isInBackground = ({ name }: ServerStatus): boolean =>
    board.sighting(name)?.desired.policy.startup.mode === 'background';
  return board.statuses().filter((status) => !isInBackground(status));
}

/** Those of them that hold it up however long they take: nothing is known of their tools. */
function blockingStatuses(board: StatusBoard): readonly ServerStatus[] {
  return awaitedStatuses(board).filter(
    ({ name, catalog }) =>
      catalog === 'none' && board.sighting(name)?.desired.policy.startup.withoutCache === 'block',
  );
}

/** Says whether no server is on its way to something. */
function areSettled(statuses: readonly ServerStatus[]): boolean {
  return statuses.every(({ state }) => !isOnItsWay(state));
}

/**
 * Sorts the servers by what a host can do with them at this moment. Servers that
 * a person switched off or stopped are in no list.
 */
function startReportOf(statuses: readonly ServerStatus[], elapsedMs: number): StartReport {
  const namesWhere = (matches: (status: ServerStatus) => boolean): string[] =>
    statuses.filter(matches).map(({ name }) => name);
  return {
    live: namesWhere(isLive),
    deferred: namesWhere((status) => !isLive(status) && status.catalog !== 'none'),
    pending: namesWhere(isPending),
    failed: statuses.filter(isFailed).map(({ name, state, reason }) => ({
      name,
      state,
      ...(reason === undefined ? {} : { reason }),
    })),
    elapsedMs,
  };
}

function isLive({ state }: ServerStatus): boolean {
  return isUsable(state);
}

function isPending({ state, catalog }: ServerStatus): boolean {
  return catalog === 'none' && (isOnItsWay(state) || state === 'dormant');
}

function isFailed({ state, catalog }: ServerStatus): boolean {
  if (catalog !== 'none') return false;
  return state === 'backingOff' || needsUser(state);
}
