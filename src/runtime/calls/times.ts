/** How long one call may take: its deadline, its longest silence, and the minimum an answer needs. */

import type { CallPolicy } from '../../domain/policy.ts';
import type { ProgressRenewal } from '../../domain/session.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { defaultPolicy } from '../../policies/presets/default-policy.ts';
import { badTimeout } from '../errors/call-refusal.ts';
import type { CallOptions } from '../troupe.ts';

/** Monotonic milliseconds. */
export interface CallTimes {
  readonly startedAt: number;
  /** Time spent on questions to the user, which the policy's deadline does not count. */
  readonly pausedMs: number;
  readonly options: CallOptions;
}

export interface Running {
  readonly timeoutMs: number;
  readonly questionsMs: number;
  readonly renewal?: ProgressRenewal;
}

/**
 * A call's deadline: from its caller, else its tool, else its server.
 * @throws TroupeError `INVALID_ARGUMENTS`.
 */
export function deadlineOf(
  { startedAt, pausedMs, options }: CallTimes,
  server: string,
  desired: DesiredServer | undefined,
  tool: string | undefined,
): number {
  const { timeoutMs: own, idleTimeoutMs } = options;
  // Also refuses NaN: a deadline that never comes would hold a place for ever.
  for (const ms of [own, idleTimeoutMs])
    if (ms !== undefined && !(Number.isFinite(ms) && ms > 0)) throw badTimeout(server);
  return startedAt + (own ?? pausedMs + timeoutMsOf(desired, tool));
}

/** The times that the session gets when the call is sent now. */
export function runningTimes(
  { startedAt, pausedMs, options }: CallTimes,
  { deadlineAt, now }: { readonly deadlineAt: number; readonly now: number },
  desired: DesiredServer,
  tool: string | undefined,
): Running {
  const { idleTimeoutMs: policyIdle, maxTimeoutMs, progressResets } = desired.policy.call;
  const leftMs = Math.max(1, deadlineAt - now);
  const idleMs = options.idleTimeoutMs ?? policyIdle;
  const timeoutMs = Math.min(leftMs, idleMs ?? leftMs);
  const hearsProgress = options.onProgress !== undefined || idleMs !== null;
  const questionsMs = questionsMsOf({ startedAt, pausedMs, options }, deadlineAt, maxTimeoutMs);
  const plain = { timeoutMs, questionsMs };
  if (!progressResets || !hearsProgress) return plain;
  // A deadline that the caller gave is final.
  const ownEnd = options.timeoutMs !== undefined || maxTimeoutMs === null;
  const untilMs = ownEnd ? leftMs : Math.max(leftMs, startedAt + pausedMs + maxTimeoutMs - now);
  if (untilMs === leftMs && idleMs === null) return plain;
  return { ...plain, renewal: { silenceMs: idleMs ?? timeoutMsOf(desired, tool), untilMs } };
}

/**
 * How long the server's questions may wait without counting: until the cap of all calls. A deadline
 * that the caller gave counts everything.
 */
function questionsMsOf(
  { startedAt, pausedMs, options }: CallTimes,
  deadlineAt: number,
  maxTimeoutMs: CallPolicy['maxTimeoutMs'],
): number {
  if (options.timeoutMs !== undefined) return 0;
  const endAt = maxTimeoutMs === null ? Infinity : startedAt + pausedMs + maxTimeoutMs;
  return Math.max(0, endAt - deadlineAt);
}

// No answer crosses a network and the event loops of two busy processes faster.
const leastAnswerMs = 20;
// A caller that allows little time means it, and gets nine tenths of it.
const leastShare = 0.1;

/**
 * How much time must be left for a call to be worth sending. With less it would run and its answer
 * come too late, so its outcome would be unknown; a call that is not sent provably did not run.
 */
export function leastLeftMs(startedAt: number, deadlineAt: number): number {
  return Math.min(leastAnswerMs, (deadlineAt - startedAt) * leastShare);
}

// For a server whose chart is just being replaced; the policy decides for all others.
const { timeoutMs: defaultTimeoutMs }: CallPolicy = defaultPolicy.call;

function timeoutMsOf(desired: DesiredServer | undefined, tool: string | undefined): number {
  if (desired === undefined) return defaultTimeoutMs;
  const override = desired.tools.overrides?.find((candidate) => candidate.tool === tool);
  return override?.timeoutMs ?? desired.policy.call.timeoutMs;
}
