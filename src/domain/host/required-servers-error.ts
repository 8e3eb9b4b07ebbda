import type { ServerState, StateReason } from '../server-state.ts';
import { TroupeError } from '../troupe-error.ts';

/** A required server that was not ready, and its state. */
export interface MissingServer {
  /** The server's name in the settings. */
  readonly name: string;
  /** Its state when the wait ended. */
  readonly state: ServerState;
  /** Why it was in this state; absent where the state says it all. */
  readonly reason?: StateReason;
}

/** Thrown when required servers were not ready within their startup timeouts. */
export class RequiredServersError extends TroupeError {
  /** The servers that were not ready, in settings order; never empty. */
  readonly servers: readonly MissingServer[];

  constructor(servers: readonly MissingServer[]) {
    const list = servers.map(
      ({ name, state, reason }) => `${name} (${state}${reason === undefined ? '' : `, ${reason}`})`,
    );
    super(
      'TIMEOUT_WAITING',
      `Required servers are not ready: ${list.join(', ')}. Look at one: troupe status ${servers[0]?.name ?? ''}`,
      { retryable: true },
    );
    this.name = 'RequiredServersError';
    this.servers = servers;
  }
}
