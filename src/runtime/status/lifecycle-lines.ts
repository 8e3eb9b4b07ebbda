/** A server's state changes as lines for its log. */

import type { ServerStatus } from '../../domain/host/status.ts';
import { isUsable, type ServerState } from '../../domain/server-state.ts';

const rests: ReadonlySet<ServerState> = new Set([
  'backingOff',
  'authRequired',
  'suspended',
  'failed',
]);

/** The log lines for the change between two statuses of a server; usually none. */
export function lifecycleLines(
  before: ServerStatus | undefined,
  now: ServerStatus,
  nowMs: number,
): readonly string[] {
  const isSame =
    before?.state === now.state &&
    before.reason === now.reason &&
    before.restarts === now.restarts &&
    !hasTakenOver(before, now);
  const besides = handoverLines(before, now);
  if (isSame) return besides;
  const lost = lossLine(before, now);
  return [...besides, ...(lost === undefined ? [] : [lost]), stateLine(now, nowMs)];
}

function hasTakenOver(before: ServerStatus | undefined, now: ServerStatus): boolean {
  return before?.successor !== undefined && before.successor.generation === now.generation;
}

/** Lines about a handover between two generations. */
function handoverLines(before: ServerStatus | undefined, now: ServerStatus): readonly string[] {
  const { successor } = now;
  if (hasTakenOver(before, now)) return ['its successor has taken over'];
  if (successor !== undefined) {
    const earlier = before?.successor;
    if (earlier?.generation !== successor.generation)
      return ['its settings changed: a successor starts beside it'];
    const hasFailed = rests.has(successor.state) && earlier.state !== successor.state;
    const cause = hasFailed ? successor.lastError : undefined;
    return cause === undefined ? [] : [`its successor did not start: ${cause.message}`];
  }
  if (before?.successor !== undefined) return ['its successor is not needed any more'];
  const isAlone = before?.predecessor !== undefined && now.predecessor === undefined;
  return isAlone ? ['its predecessor has left'] : [];
}

function lossLine(before: ServerStatus | undefined, now: ServerStatus): string | undefined {
  const { lastError } = now;
  // Only at rest, because a closing session may still find the cause.
  if (!rests.has(now.state) || lastError === undefined) return undefined;
  const wasThere = before !== undefined && isUsable(before.state);
  return `${wasThere ? 'lost' : 'did not start'}: ${lastError.message}`;
}

function stateLine(status: ServerStatus, nowMs: number): string {
  const { state, reason, attempt, tools, nextAttemptAt, action } = status;
  const why = reason === undefined ? '' : ` (${reason})`;
  const next = action === undefined ? '' : `; next: ${action}`;
  switch (state) {
    case 'ready':
      return `ready with ${tools} ${tools === 1 ? 'tool' : 'tools'}`;
    case 'queued':
    case 'connecting':
    case 'loadingTools':
      return attempt === undefined ? state : `${state}, attempt ${attempt}`;
    case 'backingOff': {
      const leftMs = nextAttemptAt === undefined ? 0 : Date.parse(nextAttemptAt) - nowMs;
      return `next attempt in ${Math.max(0, leftMs / 1_000).toFixed(1)}s${why}`;
    }
    default:
      return `${state}${why}${next}`;
  }
}
