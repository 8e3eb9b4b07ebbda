/** Describes how a server's process ended, for messages. */

import type { Seen } from './connection.ts';

/** How the process of a server ended; undefined if it is not known to have ended. */
export function endOf({ exitCode, signal }: Partial<Seen>): string | undefined {
  if (signal !== undefined) return `was ended by ${signal}`;
  return exitCode === undefined ? undefined : `exited with code ${exitCode}`;
}

/** The last line that a process wrote; it explains more than the exit code. */
export function lastWordsOf({ stderrTail }: Partial<Seen>): string {
  const last = stderrTail?.at(-1);
  return last === undefined ? '' : ` It last wrote: ${last}`;
}
