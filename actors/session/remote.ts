/**
 * Connects a session to a remote server. It is separate from `mcp-client.ts`, so that a session with a
 * process loads neither this file nor Node's HTTP and TLS modules.
 */

import type { Authenticator } from '../../src/domain/authorization.ts';
import type { SessionId } from '../../src/domain/session.ts';
import { secretsOf } from '../../src/policies/text/redact.ts';
import type { Connection, ConnectionSetup } from '../transports/connection/connection.ts';
import { openEndpoint, type RemoteEndpoint } from '../transports/http/proxy-and-tls.ts';
import { HttpTransport } from '../transports/http/transport.ts';
import { SseTransport } from '../transports/sse.ts';
import type { HttpEndpoint, Resolved } from '../values/target.ts';
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

type Headers = Readonly<Record<string, string>>;

/**
 * Returns an authenticator that adds headers whose values may change; the given one if there are
 * none. A header of the settings wins over one of a login.
 */
function withCurrentHeaders(
  { currentHeaders, refreshHeaders }: Pick<HttpEndpoint, 'currentHeaders' | 'refreshHeaders'>,
  logIn: Authenticator | undefined,
): Authenticator | undefined {
  if (currentHeaders === undefined || refreshHeaders === undefined) return logIn;

  /** Resolves with whether there are other headers than the refused ones. */
  const areOthers = async (sentWith: Headers): Promise<boolean> => {
    const isSent = (headers: Headers): boolean =>
      Object.entries(lowerCased(headers)).every(([name, value]) => sentWith[name] === value);
    // Another request may have been refused earlier.
    if (!isSent(await currentHeaders())) return true;
    try {
      return !isSent(await refreshHeaders());
    } catch {
      // The server's refusal says more to the user.
      return false;
    }
  };

  return {
    async headers(method, url) {
      const own = lowerCased(await currentHeaders());
      return { ...(await logIn?.headers(method, url)), ...own };
    },
    async refused(refusal) {
      if (await areOthers(refusal.sentWith)) return true;
      return (await logIn?.refused(refusal)) ?? false;
    },
    failure: () => logIn?.failure?.(),
  };
}

/** Reports each new token that the authenticator sends, so that it can be redacted. */
function withReportedTokens(
  logIn: Authenticator | undefined,
  onSecrets: (secrets: readonly string[]) => void,
): Authenticator | undefined {
  if (logIn === undefined) return undefined;
  let latest = '';
  return {
    async headers(method, url) {
      const headers = await logIn.headers(method, url);
      const { authorization = '' } = headers;
      if (authorization !== latest) onSecrets(secretsOf([authorization]));
      latest = authorization;
      return headers;
    },
    refused: (refusal) => logIn.refused(refusal),
    failure: () => logIn.failure?.(),
  };
}

function lowerCased(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
