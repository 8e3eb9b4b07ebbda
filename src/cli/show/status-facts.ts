/** What the table and the log tell alike of a status. Pure. */

import type { ServerStatus } from '../../domain/host/status.ts';
import type { ServerState } from '../../domain/server-state.ts';

const restingAfterFailure: ReadonlySet<ServerState> = new Set([
  'backingOff',
  'failed',
  'suspended',
  'authRequired',
  'blocked',
]);

/** What went wrong, of a server that rests because of it. */
export function failureAtRest({ state, lastError }: ServerStatus): string | undefined {
  return restingAfterFailure.has(state) ? lastError?.message : undefined;
}

/** Why it is as it is: of a server that is there while calls are refused, its circuit. */
export function reasonOf(server: ServerStatus): string | undefined {
  if (!refusesCalls(server)) return server.reason;
  const circuit = `circuit ${server.circuit}`;
  return server.reason === undefined ? circuit : `${circuit}, ${server.reason}`;
}

/** The command that would help; restarting a server closes its circuit, as the refused call says. */
export function actionOf(server: ServerStatus): string | undefined {
  return server.action ?? (refusesCalls(server) ? `troupe restart ${server.name}` : undefined);
}

function refusesCalls({ state, circuit }: ServerStatus): boolean {
  return (state === 'ready' || state === 'degraded') && circuit !== 'closed';
}
