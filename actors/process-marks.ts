/**
 * Finds processes that left the group they were started in. The mark in their
 * environment, which children inherit, still says whose they are. Linux only:
 * elsewhere no process may read the environment of another.
 */

import { readFileSync } from 'node:fs';

import { hasProcessTable } from './process-identity.ts';
import { createLook } from './process-look.ts';

/** The variable that every server gets. A daemon that is meant to stay starts without it. */
export const markVariable = 'MCP_TROUPE_RUN';

interface MarkedProcess {
  readonly pid: number;
  readonly environment: Buffer;
}

/** The processes that carry exactly this mark and run. */
export async function findMarked(mark: string): Promise<readonly number[]> {
  if (!hasProcessTable) return [];
  const wanted = `${markVariable}=${mark}\0`;
  return (await lookForMarked())
    .filter(({ environment }) => environment.includes(wanted))
    .map(({ pid }) => pid);
}

const lookForMarked = createLook((pid): MarkedProcess | undefined => {
  // Empty for the dead; unreadable for those of other users.
  const environment = readFileSync(`/proc/${pid}/environ`);
  return environment.includes(markVariable) && pid !== process.pid
    ? { pid, environment }
    : undefined;
});

/** Signals each of them; who is gone already does not matter. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // Gone, or of another user and out of reach.
    }
  }
}
