/** Restarts servers that gave up, or back off, only because an input had no answer yet. */

import type { FailureKind } from '../../domain/failure.ts';
import type { RootRef, Sighting } from '../status/board.ts';

interface AnsweredPorts {
  readonly root: Pick<RootRef, 'send'>;
  readonly board: { sighting(server: string): Sighting | undefined };
}

// A start that timed out while it waited for the answer, and one whose question was declined.
const wantOfValue: ReadonlySet<FailureKind> = new Set(['initTimeout', 'unavailable']);

/**
 * Requests one start of each. A server that the user stopped, or that may not start, stays as it
 * is; a start that is under way uses the answer by itself.
 */
export function startAnswered(ports: () => AnsweredPorts): (servers: readonly string[]) => void {
  return (servers) => {
    const { root, board } = ports();
    for (const server of servers) {
      const seen = board.sighting(server);
      if (seen === undefined || seen.leaving) continue;
      const { state, lastError } = seen.status;
      if (state !== 'failed' && state !== 'backingOff') continue;
      if (lastError !== undefined && wantOfValue.has(lastError.kind))
        root.send({ type: 'server.start', server });
    }
  };
}
