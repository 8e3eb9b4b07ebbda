/** Facts of a status that the table and the log share. */

import type { ServerStatus } from '../../domain/host/status.ts';
import { isUsable, needsUser, type ServerState } from '../../domain/server-state.ts';

/** Whether a server in this state waits because something failed or is not allowed. */
export function restsByFailure(state: ServerState): boolean {
  return state === 'backingOff' || needsUser(state);
}

/** The failure that a waiting server waits for. */
export function failureAtRest({ state, lastError }: ServerStatus): string | undefined {
  return restsByFailure(state) ? lastError?.message : undefined;
}

/** The reason for a state; for a server that is up but refuses calls, its circuit. */
export function reasonOf(server: ServerStatus): string | undefined {
  if (!refusesCalls(server)) return server.reason;
  const circuit = `circuit ${server.circuit}`;
  return server.reason === undefined ? circuit : `${circuit}, ${server.reason}`;
}

/** The command that helps. Restarting a server closes its circuit, as the refused call says. */
export function actionOf(server: ServerStatus): string | undefined {
  return server.action ?? (refusesCalls(server) ? `troupe restart ${server.name}` : undefined);
}

function refusesCalls({ state, circuit }: ServerStatus): boolean {
  return isUsable(state) && circuit !== 'closed';
}
