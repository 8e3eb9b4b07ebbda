/**
 * Connects a session to a remote server. It is separate from `mcp-client.ts`, so that a session with a
 * process loads neither this file nor Node's HTTP and TLS modules.
 */

import type { TransportKind } from '../../src/domain/server-spec.ts';
import type { Client } from '../../src/protocol/mcp-client.ts';
import type { Connection, ConnectionSetup } from '../transports/connection/connection.ts';
import { createLiveness, type Liveness } from '../transports/http/liveness.ts';
import type { RemoteEndpoint } from '../transports/http/proxy-and-tls.ts';
import { HttpTransport } from '../transports/http/transport.ts';
import { SseTransport } from '../transports/sse.ts';

export { openEndpoint } from '../transports/http/proxy-and-tls.ts';

/**
 * Creates the transport, without connecting. `onLost` is called once, when the server no longer
 * responds.
 */
export async function connectRemote(
  carrier: TransportKind,
  endpoint: RemoteEndpoint,
  setup: ConnectionSetup,
  client: Client,
  onLost: (error: unknown) => void,
): Promise<{ readonly connection: Connection; readonly liveness: Liveness }> {
  let http: HttpTransport | undefined;
  const isBusy = (): boolean => http?.isBusy === true;
  const liveness = createLiveness(client, setup.clock, isBusy, onLost);
  if (carrier === 'sse') return { liveness, connection: new SseTransport(endpoint, setup) };
  if (carrier !== 'ws') {
    http = new HttpTransport(endpoint, setup, liveness);
    return { liveness, connection: http };
  }
  // Rarely used, and needs its own package.
  const { WsTransport } = await import('../transports/ws.ts');
  return { liveness, connection: new WsTransport(endpoint, setup) };
}
