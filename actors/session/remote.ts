/**
 * Connects a session to a remote server. It is separate from `client.ts`, so that a session with a
 * process loads neither this file nor Node's HTTP and TLS modules.
 */

import type { Client } from '@modelcontextprotocol/client';

import type { TransportKind } from '../../src/domain/server-spec.ts';
import type { Connection, ConnectionSetup } from '../transports/connection/connection.ts';
import { createLiveness, type Liveness } from '../transports/http/liveness.ts';
import { openEndpoint } from '../transports/http/reach.ts';
import { HttpTransport } from '../transports/http/transport.ts';
import { SseTransport } from '../transports/sse.ts';
import type { HttpEndpoint } from '../values/target.ts';

/**
 * Reads the certificates and creates the transport, without connecting. `onLost` is called once, when the server no longer
 * responds.
 */
export async function connectRemote(
  carrier: TransportKind,
  endpoint: HttpEndpoint,
  setup: ConnectionSetup,
  client: Client,
  onLost: (error: unknown) => void,
): Promise<{ readonly connection: Connection; readonly liveness: Liveness }> {
  const opened = await openEndpoint(endpoint, (line) => setup.events.remark(line));
  let http: HttpTransport | undefined;
  const isBusy = (): boolean => http?.isBusy === true;
  const liveness = createLiveness(client, setup.clock, isBusy, onLost);
  if (carrier === 'sse') return { liveness, connection: new SseTransport(opened, setup) };
  if (carrier !== 'ws') {
    http = new HttpTransport(opened, setup, liveness);
    return { liveness, connection: http };
  }
  // Rarely used, and needs its own package.
  const { WsTransport } = await import('../transports/ws.ts');
  return { liveness, connection: new WsTransport(opened, setup) };
}
