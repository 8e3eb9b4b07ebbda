/**
 * How a session reaches a remote server. Apart from `session-client.ts`, so that a
 * session with a process loads neither this nor what Node brings for HTTP and TLS.
 */

import type { Client } from '@modelcontextprotocol/client';

import { createLiveness, type Liveness } from './http-liveness.ts';
import { HttpTransport } from './http-transport.ts';
import type { Connection, ConnectionSetup } from './session-connection.ts';
import type { HttpEndpoint } from './session-target.ts';

/** Connects nothing yet. `onLost` hears once that the server no longer answers, and why. */
export function connectRemote(
  endpoint: HttpEndpoint,
  setup: ConnectionSetup,
  client: Client,
  onLost: (error: unknown) => void,
): { readonly connection: Connection; readonly liveness: Liveness } {
  const liveness = createLiveness(client, setup.clock, onLost);
  const connection = new HttpTransport(endpoint, setup, () => liveness.suspect());
  return { connection, liveness };
}
