/** What became of a server, in lines for its log. */

import type { ServerState } from '../domain/server-state.ts';
import type { ServerStatus } from '../domain/status.ts';

const rests: ReadonlySet<ServerState> = new Set([
  'backingOff',
  'authRequired',
  'suspended',
  'failed',
]);

/** Lists what is worth a line between two statuses of a server; mostly nothing. */
export function lifecycleLines(
  before: ServerStatus | undefined,
  now: ServerStatus,
  nowMs: number,
): readonly string[] {
  const isSame =
    before?.state === now.state && before.reason === now.reason && before.restarts === now.restarts;
  if (isSame) return [];
  const lost = lossLine(before, now);
  return lost === undefined ? [stateLine(now, nowMs)] : [lost, stateLine(now, nowMs)];
}

function lossLine(before: ServerStatus | undefined, now: ServerStatus): string | undefined {
  const { lastError } = now;
  // Told when it comes to rest: a closing session may still find out more.
  if (!rests.has(now.state) || lastError === undefined) return undefined;
  const wasThere = before?.state === 'ready' || before?.state === 'degraded';
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
