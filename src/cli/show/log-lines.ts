/** Tells the lines of a server's log to a person. Pure. */

import type { ServerLogLine } from '../../domain/server-log.ts';
import { printableLine } from '../../policies/text/printable.ts';

// As long as a line of the log may be.
const longestLine = 2_000;

/**
 * One line each. Time, session and stream stand before every line, so that no text
 * of a server can pass for a line of another stream.
 */
export function logLine({ at, session, stream, line }: ServerLogLine): string {
  return `${at} #${session} ${stream.padEnd(6)} | ${printableLine(line, longestLine)}`;
}
