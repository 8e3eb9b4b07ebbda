/** The logs of all servers, by name: each is bounded, and so are those of removed servers together. */

import type { LogOrigin, ServerLogLine } from '../../domain/server-log.ts';

// As much per server as a session's ring of stderr holds.
const logBytes = 65_536;
// The cost of a line besides its text: an object of five fields, its time as text, two string
// headers and a place in a list.
const lineBytes = 128;
// Removed servers together: the full logs of the last 64, or more of quiet ones.
const departedBytes = 4_194_304;

interface Log {
  readonly lines: ServerLogLine[];
  bytes: number;
  lineCount: number;
}

interface NewLine extends LogOrigin {
  /** Wall time, milliseconds since 1970. */
  readonly atMs: number;
  readonly line: string;
}

export class ServerLogs {
  readonly #logs = new Map<string, Log>();

  append(server: string, { atMs, session, stream, line }: NewLine): ServerLogLine {
    const log = this.#logs.get(server) ?? { lines: [], bytes: 0, lineCount: 0 };
    this.#logs.set(server, log);
    log.lineCount += 1;
    const entry = {
      number: log.lineCount,
      at: new Date(atMs).toISOString(),
      session,
      stream,
      line,
    };
    log.lines.push(entry);
    log.bytes += sizeOf(entry);
    while (log.bytes > logBytes && log.lines.length > 1) {
      log.bytes -= sizeOf(log.lines.shift() as ServerLogLine);
    }
    return entry;
  }

  /** Oldest line first; undefined for an unknown server. */
  of(server: string): readonly ServerLogLine[] | undefined {
    const log = this.#logs.get(server);
    return log === undefined ? undefined : [...log.lines];
  }

  /** Keeps the present servers and, as far as they fit, the departed ones (newest last). */
  retain(present: ReadonlySet<string>, departed: readonly string[]): void {
    const kept = new Set(present);
    let bytes = 0;
    for (const server of departed.toReversed()) {
      bytes += this.#logs.get(server)?.bytes ?? 0;
      if (bytes > departedBytes) break;
      kept.add(server);
    }
    for (const server of this.#logs.keys()) if (!kept.has(server)) this.#logs.delete(server);
  }
}

function sizeOf({ line }: ServerLogLine): number {
  return Buffer.byteLength(line) + lineBytes;
}
