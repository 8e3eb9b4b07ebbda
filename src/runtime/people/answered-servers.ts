/** Starts again who gave up, or waits for its next try, only because an input had no answer yet. */

import type { FailureKind } from '../../domain/failure.ts';
import type { RootRef, Sighting } from '../status/board.ts';

interface AnsweredPorts {
  readonly root: Pick<RootRef, 'send'>;
  readonly board: { sighting(server: string): Sighting | undefined };
}

// A start that ran into its deadline while it waited, and one that was refused its answer.
const wantOfValue: ReadonlySet<FailureKind> = new Set(['initTimeout', 'unavailable']);

/**
 * Asks for one start each. A person who stopped a server, and whatever keeps it from starting,
 * stays in force; a start that is under way takes the answer by itself.
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
