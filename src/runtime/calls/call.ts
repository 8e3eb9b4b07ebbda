/** One call to a server, from its entry to its answer: its state and its time limits. */

import type { Clock } from '../../domain/clock.ts';
import type { CallPolicy } from '../../domain/policy.ts';
import { isRemote } from '../../domain/server-spec.ts';
import type {
  CallDeadline,
  SessionCallOptions,
  SessionHandle,
  SessionRequest,
} from '../../domain/session.ts';
import type { DesiredServer, ViewSettings } from '../../domain/settings.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';
import type { Replay } from '../../policies/calls/replay-decision.ts';
import { defaultPolicy } from '../../policies/presets/default-policy.ts';
import type { ToolNames } from '../catalog/tool-names.ts';
import { asTroupeError } from '../errors/failed.ts';
import { badTimeout, ifNeverSent } from '../errors/refused.ts';
import type { CallWatch } from '../telemetry/calls.ts';
import type { CallOptions } from '../troupe.ts';
import type { Permission } from '../user/permissions.ts';
import type { WaitBounds } from '../wait-once.ts';
import type { CallSemaphore } from './concurrency-limit.ts';
import type { StatusChanges } from './gate.ts';
import type { Operation } from './operation.ts';
import type { QuotaPlace } from './quotas.ts';

/** On whose behalf a call is made. */
export interface Caller {
  /** The name that the client chose, which may be anything; `host` without one. */
  readonly client: string;
  /** The user of its access token. */
  readonly user?: string;
}

/**
 * Why a call cannot be sent now: it waits for hooks, a permission, its turn, the server, or another session
 * in place of the one that lost it.
 */
export type Hold = 'hook' | 'permission' | 'queue' | 'wait' | 'replacement';

/** The view through which a call is made, as its settings are now. */
export interface CallView {
  readonly name: string;
  readonly settings: ViewSettings | undefined;
  readonly tools: ToolNames;
  /** @throws TroupeError if the view does not show the server, whether or not it exists */
  readonly refuseServer: (server: string) => void;
  /** @throws TroupeError if the view does not show what the request is about */
  readonly refuseRequest: (server: string, request: SessionRequest) => void;
}

/** A call as it was made. */
export interface CallEntry {
  readonly options: CallOptions;
  /** When the caller's `timeoutMs` ends, in monotonic milliseconds; undefined for the policy's. */
  readonly deadlineAt: number | undefined;
  /** Observes it, if it is observed. */
  readonly watch: CallWatch | undefined;
  /** Absent for calls by the host itself. */
  readonly view?: CallView | undefined;
}

export class Call<Result = unknown> {
  readonly operation: Operation<Result>;
  readonly options: CallOptions;
  readonly watch: CallWatch | undefined;
  readonly view: CallView | undefined;
  readonly semaphore: CallSemaphore;
  readonly startedAt: number;
  /** The deadline that its caller set; undefined for the policy's. */
  readonly ownDeadlineAt: number | undefined;
  deadlineAt = 0;
  /** Time spent on questions to the user, by which the policy's deadline is extended. */
  pausedMs = 0;
  /** Whether the semaphore counts it as active. */
  isActive = false;
  /** Tracks the server's status once the call had to wait. */
  changes: StatusChanges | undefined;
  sends = 0;
  /** What it counts for in the limits of the settings. */
  readonly places: QuotaPlace[] = [];
  wasQueued = false;
  /** Settles once the hooks before the call have run; undefined until they start. */
  hooked: Promise<void> | undefined;
  /** The call's permission; null if none was requested. */
  permission: Permission | null = null;
  /**
   * The server's last session when this call first demanded it; null if it has not been demanded.
   */
  demandedAfter: { readonly actorId: string; readonly session: number } | null = null;
  /** A first attempt that was lost, and how long the call waits for a new session. */
  lost: {
    readonly handle: SessionHandle;
    readonly error: TroupeError;
    readonly replay: Replay;
    readonly untilAt: number;
  } | null = null;

  /** @throws TroupeError `INVALID_ARGUMENTS`. */
  constructor(
    operation: Operation<Result>,
    { options, deadlineAt, watch, view }: CallEntry,
    semaphore: CallSemaphore,
    startedAt: number,
  ) {
    const { timeoutMs, idleTimeoutMs } = options;
    if (!isTimeout(timeoutMs) || !isTimeout(idleTimeoutMs)) throw badTimeout(operation.server);
    this.operation = operation;
    this.options = options;
    this.watch = watch;
    this.view = view;
    this.semaphore = semaphore;
    this.startedAt = startedAt;
    this.ownDeadlineAt = deadlineAt;
  }

  get server(): string {
    return this.operation.server;
  }

  /** Sets its deadline: its caller's, otherwise its tool's, otherwise its server's. */
  setDeadline(desired: DesiredServer | undefined): void {
    const limitAt = this.startedAt + this.pausedMs + timeoutMsOf(desired, this.operation.tool);
    this.deadlineAt = this.ownDeadlineAt ?? limitAt;
  }

  /**
   * Whether too little time is left to send it: the response would arrive too late and the outcome
   * would be unknown; a call that is not sent provably did not run.
   */
  isTooLate(now: number): boolean {
    const leastLeftMs = Math.min(leastAnswerMs, (this.deadlineAt - this.startedAt) * leastShare);
    return this.deadlineAt - now < leastLeftMs;
  }

  /** Returns the end of its wait: its deadline, or the time given to a replacement of its session. */
  boundsOf(hold: Hold, clock: Clock): WaitBounds {
    const { deadlineAt, lost, options } = this;
    // The clock is not asked here: the given time may pass between that and the last attempt.
    const givenUntilAt = hold === 'replacement' ? lost?.untilAt : undefined;
    const endAt = Math.min(deadlineAt, givenUntilAt ?? deadlineAt);
    return { clock, signal: options.signal, deadlineAt: endAt };
  }

  /** Returns the options for the session to which it is sent now. */
  sessionOptions(desired: DesiredServer, now: number): SessionCallOptions {
    const { signal, onProgress, round, requestId, onQuestion, client, meta } = this.options;
    const { deadlineAt, questionsMs, renewal } = deadlineFrom(this, desired, now);
    // The party answers the server's questions about this call.
    const party = { tool: this.operation.shownTool, requestId, onQuestion, client };
    return { deadlineAt, questionsMs, renewal, party, signal, onProgress, round, meta };
  }

  /** Returns the error of a call that ended with one. */
  errorOf(error: unknown): TroupeError {
    const { server, sends, lost } = this;
    const failure = asTroupeError(error, server, sends === 0 ? 'not_executed' : 'unknown');
    // The first attempt may have run, so a later error must not report `not_executed`.
    return lost?.replay === 'mayRepeat' ? ifNeverSent(failure, lost.error) : failure;
  }

  /** Makes it active, unless as many calls as may be are. */
  activate(): boolean {
    this.isActive ||= this.semaphore.tryAcquire();
    return this.isActive;
  }

  /** Gives its turn to the next call, because it ended or has to wait; returns why it waits. */
  release(hold: Hold = 'wait'): Hold {
    if (this.isActive) this.semaphore.release();
    this.isActive = false;
    return hold;
  }

  /** Ends its permission, because it is over or needs another one. */
  endPermission(): void {
    this.permission?.end();
    this.permission = null;
  }

  end(): void {
    this.changes?.end();
    this.endPermission();
    this.semaphore.leave();
  }
}

/** Returns the deadline of a call that is sent now, and what moves it. */
function deadlineFrom(call: Call, desired: DesiredServer, now: number): CallDeadline {
  const { deadlineAt, options, startedAt, pausedMs } = call;
  const { maxTimeoutMs, progressResets } = desired.policy.call;
  const maximumAt = startedAt + pausedMs + (maxTimeoutMs ?? Number.POSITIVE_INFINITY);
  // A deadline that the caller set is final.
  const isFinal = call.ownDeadlineAt !== undefined;
  const latestAt = isFinal ? deadlineAt : Math.max(deadlineAt, maximumAt);
  const idleMs = options.idleTimeoutMs ?? idleTimeoutMsOf(desired);
  const plain = {
    deadlineAt: idleMs === null ? deadlineAt : Math.min(deadlineAt, now + idleMs),
    questionsMs: latestAt - deadlineAt,
  };
  const hearsProgress = options.onProgress !== undefined || idleMs !== null;
  if (!progressResets || !hearsProgress) return plain;
  const untilAt = maxTimeoutMs === null ? deadlineAt : latestAt;
  if (untilAt === deadlineAt && idleMs === null) return plain;
  return {
    ...plain,
    renewal: { silenceMs: idleMs ?? timeoutMsOf(desired, call.operation.tool), untilAt },
  };
}

/** Also rejects NaN: a call without a deadline could hold its slot forever. */
function isTimeout(ms: number | undefined): boolean {
  return ms === undefined || (Number.isFinite(ms) && ms > 0);
}

// A response needs at least this long across a network and two busy event loops.
const leastAnswerMs = 20;
// A caller that allows little time can use nine tenths of it.
const leastShare = 0.1;

function idleTimeoutMsOf({ policy, transport }: DesiredServer): number | null {
  const { idleTimeoutMs } = policy.call;
  if (idleTimeoutMs === null || typeof idleTimeoutMs === 'number') return idleTimeoutMs;
  return idleTimeoutMs[isRemote(transport) ? 'remote' : 'local'];
}

// For a server whose chart is being replaced; for others, the policy decides.
const { timeoutMs: defaultTimeoutMs }: CallPolicy = defaultPolicy.call;

function timeoutMsOf(desired: DesiredServer | undefined, tool: string | undefined): number {
  if (desired === undefined) return defaultTimeoutMs;
  const override = desired.tools.overrides?.find((candidate) => candidate.tool === tool);
  return override?.timeoutMs ?? desired.policy.call.timeoutMs;
}
