/** A call's time limits: its deadline, its idle timeout, and the minimum time left for sending it. */

import type { CallPolicy } from '../../domain/policy.ts';
import { isRemote } from '../../domain/server-spec.ts';
import type { CallDeadline } from '../../domain/session.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { defaultPolicy } from '../../policies/presets/default-policy.ts';
import { badTimeout } from '../errors/refused.ts';
import type { CallOptions } from '../troupe.ts';

/** A call's times, in monotonic milliseconds. */
export interface CallTimes {
  readonly startedAt: number;
  /** Time spent on questions to the user, by which the policy's deadline is extended. */
  readonly pausedMs: number;
  readonly options: CallOptions;
}

/**
 * Returns a call's deadline: its caller's, otherwise its tool's, otherwise its server's.
 * @throws TroupeError `INVALID_ARGUMENTS`.
 */
export function deadlineOf(
  { startedAt, pausedMs, options }: CallTimes,
  server: string,
  desired: DesiredServer | undefined,
  tool: string | undefined,
): number {
  const { timeoutMs: own, idleTimeoutMs } = options;
  if (!isTimeout(own) || !isTimeout(idleTimeoutMs)) throw badTimeout(server);
  return startedAt + (own ?? pausedMs + timeoutMsOf(desired, tool));
}

/** Also rejects NaN: a call without a deadline could hold its slot forever. */
function isTimeout(ms: number | undefined): boolean {
  return ms === undefined || (Number.isFinite(ms) && ms > 0);
}

/** Returns the time limits for the session, if the call is sent now. */
export function sessionLimits(
  { startedAt, pausedMs, options }: CallTimes,
  { deadlineAt, now }: { readonly deadlineAt: number; readonly now: number },
  desired: DesiredServer,
  tool: string | undefined,
): CallDeadline {
  const { maxTimeoutMs, progressResets } = desired.policy.call;
  const hasMaximum = maxTimeoutMs !== null;
  const maximumAt = hasMaximum ? startedAt + pausedMs + maxTimeoutMs : Number.POSITIVE_INFINITY;
  // A deadline that the caller set is final.
  const latestAt = options.timeoutMs === undefined ? Math.max(deadlineAt, maximumAt) : deadlineAt;
  const idleMs = options.idleTimeoutMs ?? idleTimeoutMsOf(desired);
  const plain = {
    deadlineAt: idleMs === null ? deadlineAt : Math.min(deadlineAt, now + idleMs),
    questionsMs: latestAt - deadlineAt,
  };
  const hearsProgress = options.onProgress !== undefined || idleMs !== null;
  if (!progressResets || !hearsProgress) return plain;
  const untilAt = hasMaximum ? latestAt : deadlineAt;
  if (untilAt === deadlineAt && idleMs === null) return plain;
  return { ...plain, renewal: { silenceMs: idleMs ?? timeoutMsOf(desired, tool), untilAt } };
}

// A response needs at least this long across a network and two busy event loops.
const leastAnswerMs = 20;
// A caller that allows little time can use nine tenths of it.
const leastShare = 0.1;

/**
 * Returns the minimum time left for sending a call. With less, the response would arrive too late
 * and the outcome would be unknown; a call that is not sent provably did not run.
 */
export function leastLeftMs(startedAt: number, deadlineAt: number): number {
  return Math.min(leastAnswerMs, (deadlineAt - startedAt) * leastShare);
}

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
