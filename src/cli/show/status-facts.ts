/** What the table and the log tell alike of a status. Pure. */

import type { ServerStatus } from '../../domain/host/status.ts';
import { isUsable, needsUser, type ServerState } from '../../domain/server-state.ts';

/** Says whether a server in this state rests because something went wrong or is not allowed. */
export function restsByFailure(state: ServerState): boolean {
  return state === 'backingOff' || needsUser(state);
}

/** What went wrong, of a server that rests because of it. */
export function failureAtRest({ state, lastError }: ServerStatus): string | undefined {
  return restsByFailure(state) ? lastError?.message : undefined;
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
  return isUsable(state) && circuit !== 'closed';
}
