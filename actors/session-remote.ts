/**
 * How a session reaches a remote server. Apart from `session-client.ts`, so that a
 * session with a process loads neither this nor what Node brings for HTTP and TLS.
 */

import type { Client } from '@modelcontextprotocol/client';

import type { TransportKind } from '../src/domain/server-spec.ts';
import { createLiveness, type Liveness } from './http-liveness.ts';
import { HttpTransport } from './http-transport.ts';
import type { Connection, ConnectionSetup } from './session-connection.ts';
import type { HttpEndpoint } from './session-target.ts';
import { SseTransport } from './sse-transport.ts';

/** Connects nothing yet. `onLost` hears once that the server no longer answers, and why. */
export async function connectRemote(
  carrier: TransportKind,
  endpoint: HttpEndpoint,
  setup: ConnectionSetup,
  client: Client,
  onLost: (error: unknown) => void,
): Promise<{ readonly connection: Connection; readonly liveness: Liveness }> {
  const liveness = createLiveness(client, setup.clock, onLost);
  return { liveness, connection: await connectionOver(carrier, endpoint, setup, liveness) };
}

async function connectionOver(
  carrier: TransportKind,
  endpoint: HttpEndpoint,
  setup: ConnectionSetup,
  liveness: Liveness,
): Promise<Connection> {
  if (carrier === 'sse') return new SseTransport(endpoint, setup);
  if (carrier !== 'ws') return new HttpTransport(endpoint, setup, () => liveness.suspect());
  // Few need it, and it brings a package of its own.
  const { WsTransport } = await import('./ws-transport.ts');
  return new WsTransport(endpoint, setup);
}
