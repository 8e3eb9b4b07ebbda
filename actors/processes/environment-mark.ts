/**
 * Finds processes that left the group in which they were started, by the mark in their environment,
 * which children inherit. Linux only: on other systems, a process may not read another's
 * environment.
 */

import { contentOf, createScan, hasProcessTable } from './process-table.ts';

/** The variable that is set in every server's environment. */
export const markVariable = 'MCP_TROUPE_RUN';
/** The value that a server passes to a daemon that is meant to outlive it. */
const staysValue = 'stay';

/** Returns whether a process declares in its environment that it outlives its server. */
export function isMeantToStay(pid: number): boolean {
  try {
    const environment = `\0${contentOf(`/proc/${pid}/environ`).toString('latin1')}`;
    return environment.includes(`\0${markVariable}=${staysValue}\0`);
  } catch {
    return false;
  }
}

interface MarkedProcess {
  readonly pid: number;
  readonly environment: Buffer;
}

/** Finds the running processes with exactly this mark or, given a run, with any of its marks. */
export async function findMarked(mark: string): Promise<readonly number[]> {
  if (!hasProcessTable) return [];
  const wanted = `${markVariable}=${mark}${mark.includes('.') ? '\0' : '.'}`;
  return (await scanForMarked())
    .filter(({ environment }) => environment.includes(wanted))
    .map(({ pid }) => pid);
}

const scanForMarked = createScan((pid): MarkedProcess | undefined => {
  // Empty for dead processes; unreadable for those of other users.
  const environment = contentOf(`/proc/${pid}/environ`);
  return environment.includes(markVariable) && pid !== process.pid
    ? { pid, environment: Buffer.from(environment) }
    : undefined;
});

/** Signals each process; ignores exited ones. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // The process has exited, or belongs to another user and is out of reach.
    }
  }
}
