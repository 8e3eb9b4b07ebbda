/**
 * Decides whether a call to a server may be sent now. It depends only on the status, so a caller's
 * error always agrees with the displayed status.
 */

import type { CallerCode } from '../../domain/caller-code.ts';
import type { Clock } from '../../domain/clock.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { isAtRest, type ServerState, type StateReason } from '../../domain/server-state.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { ServerView, StatusBoard } from '../status/board.ts';

export type Gate =
  | { readonly pass: 'go' }
  /** Check again at the next status change; `demand` tells the caller to demand the server. */
  | { readonly pass: 'wait'; readonly demand: boolean }
  | { readonly pass: 'refuse'; readonly error: TroupeError };

/** The times that the gate uses in addition to the status. */
export interface GateTimes {
  /** Milliseconds since 1970, like `circuitUntilMs`. */
  readonly wallNowMs: number;
  /** Time left until the call's own deadline. */
  readonly remainingMs: number;
  /** When an open circuit will be probed, or a half-open one's probe is due; 0 if it is closed. */
  readonly circuitUntilMs: number;
}

const go: Gate = { pass: 'go' };

/** Decides for a call with this deadline, in monotonic milliseconds. */
export function gateOf(
  { callStatus, circuitUntilMs }: ServerView,
  deadlineAt: number,
  clock: Clock,
): Gate {
  const remainingMs = deadlineAt - clock.now();
  return gateFor(callStatus, { wallNowMs: clock.wallNow(), remainingMs, circuitUntilMs });
}

/** Decides by admission and the user's stop before the connection's phase. */
export function gateFor(status: ServerStatus, times: GateTimes): Gate {
  const { wallNowMs, remainingMs, circuitUntilMs } = times;
  switch (status.state) {
    case 'ready':
    case 'degraded':
      return status.circuit === 'closed'
        ? go
        : refuse(status, 'CIRCUIT_OPEN', circuitUntilMs - wallNowMs);
    case 'dormant':
    case 'stopping':
    case 'queued':
      return { pass: 'wait', demand: true };
    case 'connecting':
    case 'loadingTools':
      return { pass: 'wait', demand: false };
    case 'backingOff':
      return gateWhileBackingOff(status, wallNowMs, remainingMs);
    case 'failed':
      return status.reason === 'notStartable'
        ? { pass: 'wait', demand: true }
        : { pass: 'refuse', error: refusal(status, codeFor(status)) };
    case 'blocked':
    case 'disabled':
    case 'stopped':
    case 'authRequired':
    case 'suspended':
      return { pass: 'refuse', error: refusal(status, codeFor(status)) };
  }
}

/** Creates the error for a server that will not become ready by itself; undefined if it may. */
export function refusalAtRest(status: ServerStatus): TroupeError | undefined {
  if (!isAtRest(status.state)) return undefined;
  return refusal(status, codeFor(status));
}

/** Creates the error for a server that was started for the call, failed, and is dormant again. */
export function notStarted(status: ServerStatus): TroupeError {
  const { name, lastError } = status;
  const cause = lastError === undefined ? '' : `: ${lastError.message.replace(/\.$/, '')}`;
  return new TroupeError(
    'UNAVAILABLE',
    `Server ${name} could not be started${cause}. Call again to retry, or see its status: troupe status ${name}`,
    { server: name, retryable: true },
  );
}

function gateWhileBackingOff(status: ServerStatus, wallNowMs: number, remainingMs: number): Gate {
  const next = status.nextAttemptAt;
  const retryAfterMs = next === undefined ? 1_000 : Math.max(0, Date.parse(next) - wallNowMs);
  // The server's chart decides whether a call may end the wait.
  if (retryAfterMs < remainingMs) return { pass: 'wait', demand: status.reason === 'retrying' };
  return refuse(status, 'BACKING_OFF', retryAfterMs);
}

// A tenth of a second: the probe is overdue, and callers should not retry in a tight loop.
const soonestRetryMs = 100;

function refuse(status: ServerStatus, code: CallerCode, waitMs: number): Gate {
  return { pass: 'refuse', error: refusal(status, code, Math.max(soonestRetryMs, waitMs)) };
}

function refusal(status: ServerStatus, code: CallerCode, retryAfterMs?: number): TroupeError {
  return new TroupeError(code, sentenceFor(status, code), {
    server: status.name,
    retryable: code === 'CIRCUIT_OPEN' || code === 'BACKING_OFF',
    retryAfterMs,
  });
}

const codes: Partial<Readonly<Record<ServerState | StateReason, CallerCode>>> = {
  untrusted: 'UNTRUSTED',
  excluded: 'EXCLUDED',
  notAllowed: 'NOT_ALLOWED',
  pendingApproval: 'PENDING_APPROVAL',
  rejected: 'REJECTED',
  invalidConfig: 'INVALID_CONFIG',
  overBudget: 'OVER_BUDGET',
  capabilityMissing: 'CAPABILITY_MISSING',
  versionUnsupported: 'VERSION_UNSUPPORTED',
  disabled: 'DISABLED',
  stopped: 'STOPPED',
  authRequired: 'AUTH_REQUIRED',
  suspended: 'SUSPENDED',
};

function codeFor({ state, reason }: ServerStatus): CallerCode {
  return (reason && codes[reason]) ?? codes[state] ?? 'FAILED';
}

// The user caused these states; an old failure is not the reason.
const calmStates: ReadonlySet<ServerState> = new Set(['stopped', 'disabled']);

function sentenceFor(status: ServerStatus, code: CallerCode): string {
  const { name, state, reason, lastError, action } = status;
  if (code === 'CIRCUIT_OPEN') {
    return `The last calls to ${name} failed, so it takes no calls for a moment; retry later or run: troupe restart ${name}`;
  }
  const condition = reason === undefined ? state : `${state} (${reason})`;
  const hasCause = lastError !== undefined && !calmStates.has(state);
  const cause = hasCause ? `: ${lastError.message.replace(/\.$/, '')}` : '';
  const end = cause.endsWith('?') ? '' : '.';
  const step = action ?? 'wait for the next attempt, or run: troupe restart ' + name;
  return `Server ${name} is ${condition}${cause}${end} Next: ${step}`;
}

/** Tracks whether a server's status changed since the last check. */
export class StatusChanges {
  readonly #board: StatusBoard;
  readonly #server: string;
  #unwatch: (() => void) | undefined;
  #isNews = false;
  #wake: (() => void) | undefined;

  constructor(board: StatusBoard, server: string) {
    this.#board = board;
    this.#server = server;
  }

  /** Returns true on the first call, which starts the watch, and after each change. */
  isNews(): boolean {
    if (this.#unwatch === undefined) {
      this.#unwatch = this.#board.watch(this.#server, () => {
        this.#isNews = true;
        this.#wake?.();
      });
      return true;
    }
    const isNews = this.#isNews;
    this.#isNews = false;
    return isNews;
  }

  onNext(wake: () => void): () => void {
    this.#wake = wake;
    return () => {
      this.#wake = undefined;
    };
  }

  end(): void {
    this.#unwatch?.();
  }
}
