/** Lines of a server's log. */

import { printableLine } from '../../domain/data/printable.ts';
import type { ServerLogLine } from '../../domain/server-log.ts';

// The maximum length of a log line.
const longestLine = 2_000;

/** Time, session and stream precede every line, so a server cannot fake a line of another stream. */
export function logLine({ at, session, stream, line }: ServerLogLine): string {
  return `${at} #${session} ${stream.padEnd(6)} | ${printableLine(line, longestLine)}`;
}
