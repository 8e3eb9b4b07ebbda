/**
 * Connects a session to a remote server. It is separate from `mcp-client.ts`, so that a session with a
 * process loads neither this file nor Node's HTTP and TLS modules.
 */

import type { SessionId } from '../../src/domain/session.ts';
import type { Connection, ConnectionSetup } from '../transports/connection/connection.ts';
import { openEndpoint, type RemoteEndpoint } from '../transports/http/proxy-and-tls.ts';
import { HttpTransport } from '../transports/http/transport.ts';
import { SseTransport } from '../transports/sse.ts';
import type { Resolved } from '../values/target.ts';
import { withCurrentHeaders, withReportedTokens } from './header-authenticator.ts';
import type { SessionPorts } from './ports.ts';
import type { SessionValues } from './session-values.ts';

type RemoteTarget = Extract<Resolved, { readonly endpoint: object }>;

interface RemoteSetup {
  readonly id: SessionId;
  readonly ports: SessionPorts;
  readonly values: SessionValues;
  readonly connection: ConnectionSetup;
}

/** Creates the transport, with the login of its address, without connecting. */
export async function connectRemote(
  { type, endpoint: written }: RemoteTarget,
  { id, ports, values, connection }: RemoteSetup,
  signal: AbortSignal,
) {
  const endpoint = {
    ...(await openEndpoint(written, (line) => connection.events.remark(line))),
    ...values.freshHeaders(written),
    ...values.freshLogIn(),
  };
  const logIn = await ports.authenticatorFor?.(id, endpoint);
  signal.throwIfAborted();
  const reported = withReportedTokens(logIn, (secrets) => values.addSecrets(secrets));
  const authenticator = withCurrentHeaders(endpoint, reported);
  const setup = authenticator === undefined ? connection : { ...connection, authenticator };
  // The authenticator sends headers that may change.
  const sent = endpoint.currentHeaders === undefined ? endpoint : { ...endpoint, headers: {} };
  return { authenticator, connection: await createTransport(type, sent, setup) };
}

async function createTransport(
  type: RemoteTarget['type'],
  endpoint: RemoteEndpoint,
  setup: ConnectionSetup,
): Promise<Connection> {
  if (type === 'sse') return new SseTransport(endpoint, setup);
  if (type !== 'ws') return new HttpTransport(endpoint, setup);
  // Rarely used, and needs its own package.
  const { WsTransport } = await import('../transports/ws.ts');
  return new WsTransport(endpoint, setup);
}
