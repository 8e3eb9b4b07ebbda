/** How a server's process ended, in words for people. */

import type { Seen } from './connection.ts';

/** How the process of a server ended; nothing when it is not known to have ended. */
export function endOf({ exitCode, signal }: Partial<Seen>): string | undefined {
  if (signal !== undefined) return `was ended by ${signal}`;
  return exitCode === undefined ? undefined : `exited with code ${exitCode}`;
}

/** What a process wrote last says more about its end than the exit code does. */
export function lastWordsOf({ stderrTail }: Partial<Seen>): string {
  const last = stderrTail?.at(-1);
  return last === undefined ? '' : ` It last wrote: ${last}`;
}
