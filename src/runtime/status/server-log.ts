/** Each server's log, and the lines about changes of its state. */

import type { ServerStatus } from '../../domain/host/status.ts';
import type { LogOrigin, ServerLogLine } from '../../domain/server-log.ts';
import { isUsable, type ServerState } from '../../domain/server-state.ts';

// As much per server as a session's stderr ring holds.
const logBytes = 65_536;
// The cost of a line besides its content: an object with five fields, its formatted time, two
// string headers and a list slot.
const lineBytes = 128;
// For all removed servers together: the full logs of the last 64, or more of quiet ones.
const departedBytes = 4_194_304;

interface Log {
  readonly lines: ServerLogLine[];
  bytes: number;
  lineCount: number;
}

/**
 * The logs of all servers. Each is bounded, and so are the logs of all removed servers together.
 */
export class ServerLogs {
  readonly #logs = new Map<string, Log>();

  /** @param atMs - wall time, milliseconds since 1970 */
  append(
    server: string,
    line: string,
    { session, stream }: LogOrigin,
    atMs: number,
  ): ServerLogLine {
    const log = this.#logs.get(server);
    const entry = {
      number: (log?.lineCount ?? 0) + 1,
      at: new Date(atMs).toISOString(),
      session,
      stream,
      line,
    };
    if (log === undefined) {
      // Most of thousands of servers never log another line, for which an empty list would grow.
      this.#logs.set(server, { lines: [entry], bytes: sizeOf(entry), lineCount: 1 });
      return entry;
    }
    log.lineCount += 1;
    log.lines.push(entry);
    log.bytes += sizeOf(entry);
    while (log.bytes > logBytes && log.lines.length > 1) {
      log.bytes -= sizeOf(log.lines.shift() as ServerLogLine);
    }
    return entry;
  }

  /** Returns the lines, oldest first; undefined for an unknown server. */
  of(server: string): readonly ServerLogLine[] | undefined {
    const log = this.#logs.get(server);
    return log === undefined ? undefined : [...log.lines];
  }

  /** Keeps the current servers and, as far as they fit, the removed ones (newest last). */
  retain(isPresent: (server: string) => boolean, departed: readonly string[]): void {
    const kept = new Set<string>();
    let bytes = 0;
    for (const server of departed.toReversed()) {
      bytes += this.#logs.get(server)?.bytes ?? 0;
      if (bytes > departedBytes) break;
      kept.add(server);
    }
    for (const server of this.#logs.keys())
      if (!isPresent(server) && !kept.has(server)) this.#logs.delete(server);
  }
}

function sizeOf({ line }: ServerLogLine): number {
  return Buffer.byteLength(line) + lineBytes;
}

const rests: ReadonlySet<ServerState> = new Set([
  'backingOff',
  'authRequired',
  'suspended',
  'failed',
]);

/** Returns the log lines for the change between two statuses of a server; usually none. */
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

/** Returns lines about a handover between two generations. */
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
