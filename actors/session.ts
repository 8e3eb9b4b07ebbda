/** Placeholder of the session actor: the ports are final, the logic follows. */

import { fromCallback } from 'xstate';

import type { SessionCommand, SessionInput } from '../src/domain/session.ts';
import type { SessionPorts } from './session-ports.ts';

export type { CatalogExtra, EraVerdict, SessionPorts, SessionTarget } from './session-ports.ts';

export function createSessionLogic(_ports: SessionPorts) {
  return fromCallback<SessionCommand, SessionInput>(() => {});
}
