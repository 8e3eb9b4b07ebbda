/** One call to a server, from its entry to its answer. */

import type { Clock } from '../../domain/clock.ts';
import type { SessionHandle } from '../../domain/session.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';
import type { Replay } from '../../policies/calls/replay-decision.ts';
import { asTroupeError, type Subject } from '../errors/failed.ts';
import { ifNeverSent } from '../errors/refused.ts';
import type { ServerView } from '../status/board.ts';
import type { CallWatch } from '../telemetry/calls.ts';
import type { RequestReport } from '../troupe.ts';
import type { WaitBounds } from '../wait-once.ts';
import type { PendingCall } from './call-permissions.ts';
import type { CallSemaphore } from './concurrency-limit.ts';
import type { StatusChanges } from './gate.ts';

export interface Done<Result, About extends Subject> extends RequestReport<Result> {
  readonly about: About;
}

/**
 * Why a call cannot be sent now: it waits for a permission, its turn, the server, or another session
 * in place of the one that lost it.
 */
export type Hold = 'permission' | 'queue' | 'wait' | 'replacement';

export interface Call extends PendingCall {
  readonly semaphore: CallSemaphore;
  readonly watch: CallWatch | undefined;
  /** Whether the semaphore counts it as active. */
  isActive: boolean;
  /** Tracks the server's status once the call had to wait. */
  changes: StatusChanges | undefined;
  sends: number;
  wasQueued: boolean;
  /**
   * The server's last session when this call first demanded it; null if it has not been demanded.
   */
  demandedAfter: { readonly actorId: string; readonly session: number } | null;
  /** A first attempt that was lost, and how long the call waits for a new session. */
  lost: {
    readonly handle: SessionHandle;
    readonly error: TroupeError;
    readonly replay: Replay;
    readonly untilAt: number;
  } | null;
}

/** The server and the session to which a call is sent, and what it is about. */
export interface Target<About extends Subject> {
  readonly view: ServerView;
  readonly handle: SessionHandle;
  readonly about: About;
  /** Monotonic time in milliseconds. */
  readonly sentAt: number;
}

/** Returns the end of a call's wait: its deadline, or the time given to a replacement of its session. */
export function boundsOf(
  { deadlineAt, lost, options }: Call,
  hold: Hold,
  clock: Clock,
): WaitBounds {
  // The clock is not asked here: the given time may pass between that and the last attempt.
  const givenUntilAt = hold === 'replacement' ? lost?.untilAt : undefined;
  const endAt = Math.min(deadlineAt, givenUntilAt ?? deadlineAt);
  return { clock, signal: options.signal, deadlineAt: endAt };
}

/** Returns the error of a call that ended with one. */
export function errorOf({ server, sends, lost }: Call, error: unknown): TroupeError {
  const failure = asTroupeError(error, server, sends === 0 ? 'not_executed' : 'unknown');
  // The first attempt may have run, so a later error must not report `not_executed`.
  return lost?.replay === 'mayRepeat' ? ifNeverSent(failure, lost.error) : failure;
}
