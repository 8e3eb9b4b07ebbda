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
  let http: HttpTransport | undefined;
  const isBusy = (): boolean => http?.isBusy === true;
  const liveness = createLiveness({ client, clock: setup.clock, isBusy, onLost });
  if (carrier === 'sse') return { liveness, connection: new SseTransport(endpoint, setup) };
  if (carrier !== 'ws') {
    http = new HttpTransport(endpoint, setup, liveness);
    return { liveness, connection: http };
  }
  // Few need it, and it brings a package of its own.
  const { WsTransport } = await import('./ws-transport.ts');
  return { liveness, connection: new WsTransport(endpoint, setup) };
}
