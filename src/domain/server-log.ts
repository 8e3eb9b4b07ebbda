/** The log of one server: its own output and the troupe's notes about it. */

/**
 * Where a line comes from: the server's stderr, non-MCP text on its stdout, or the
 * troupe itself.
 */
export type LogStream = 'stderr' | 'stdout' | 'troupe';

/** Which session a line is about, and where it comes from. */
export interface LogOrigin {
  readonly session: number;
  readonly stream: LogStream;
}

/** One line of a server's log: printable, without line ends and without secrets. */
export interface ServerLogLine {
  /** Counted from 1 for each server; a gap means that lines were left out. */
  readonly number: number;
  /** ISO 8601. */
  readonly at: string;
  /** Number of its session; 0 before the first one. */
  readonly session: number;
  readonly stream: LogStream;
  readonly line: string;
}
