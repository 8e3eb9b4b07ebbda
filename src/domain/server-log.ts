/** What is kept of the words of one server, and of what became of it, line by line. */

/**
 * Where a line comes from: the server's stderr, what it wrote to stdout that is
 * no MCP, or the troupe itself.
 */
export type LogStream = 'stderr' | 'stdout' | 'troupe';

/** Which session a line is about, and where it comes from. */
export interface LogOrigin {
  readonly session: number;
  readonly stream: LogStream;
}

/** One line of a server's log: printable, without line ends and without secrets. */
export interface ServerLogLine {
  /** Counted from 1 for each server; a gap tells that lines were left out. */
  readonly number: number;
  /** ISO 8601. */
  readonly at: string;
  /** Number of the session that it is about; 0 before the first one. */
  readonly session: number;
  readonly stream: LogStream;
  readonly line: string;
}
