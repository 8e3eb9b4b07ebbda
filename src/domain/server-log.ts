/** The log of one server: its own output and the troupe's notes about it. */

/**
 * Where a line comes from: the server's stderr, non-MCP output on its stdout, or the troupe itself.
 */
export type LogStream = 'stderr' | 'stdout' | 'troupe';

/** The session that a line is about, and where the line comes from. */
export interface LogOrigin {
  readonly session: number;
  readonly stream: LogStream;
}

/** One line of a server's log: printable, without line ends and without secrets. */
export interface ServerLogLine {
  /** Line number, counted from 1 for each server; a gap means that lines were omitted. */
  readonly number: number;
  /** ISO 8601 time. */
  readonly at: string;
  /** Number of the server's session; 0 before the first one. */
  readonly session: number;
  /** Where the line comes from. */
  readonly stream: LogStream;
  /** The text, redacted, without its end of line. */
  readonly line: string;
}
