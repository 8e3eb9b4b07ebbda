/**
 * A proxy, and what can go wrong with it. A connection to a server is a tunnel that the proxy opens
 * on request (`CONNECT`); only a request to an `http:` address is sent to the proxy itself, with
 * the absolute URL.
 */

import { type IncomingMessage, request as requestPlain, STATUS_CODES } from 'node:http';
import { request as requestSecure } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import type { SecureContext } from 'node:tls';

import { type Clock, startDeadline } from '../../../src/domain/clock.ts';
import { version } from '../../../src/domain/version.ts';
import { decoded } from '../../../src/policies/text/redact.ts';
import { ProxyError, reasonOf } from '../connection/failure.ts';
import { BlockedError } from './addresses.ts';

export interface Proxy {
  /** Its address without the user and the password. */
  readonly url: URL;
  /** The headers that only the proxy gets. */
  readonly headers: Readonly<Record<string, string>>;
  /** The setting that names it, as in `"proxy"` or `HTTPS_PROXY`. */
  readonly named: string;
}

/** Parses the address of a proxy; returns undefined if it cannot be one. */
export function parseProxy(address: string, named: string): Proxy | undefined {
  // The environment's form is often "host:port".
  const text = /^[a-z][\w+.-]*:\/\//iu.test(address) ? address : `http://${address}`;
  if (!URL.canParse(text)) return undefined;
  const { protocol, host, username, password } = new URL(text);
  if ((protocol !== 'http:' && protocol !== 'https:') || host === '') return undefined;
  const user = `${decoded(username)}:${decoded(password)}`;
  const headers =
    user === ':' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` };
  return { url: new URL(`${protocol}//${host}`), headers, named };
}

export function unreachable({ url, named }: Proxy, cause: unknown): ProxyError {
  const reason = reasonOf(cause);
  // Reasons that contain a next step are about its certificate.
  const message = reason.includes('; ')
    ? `the proxy ${url.origin} cannot be used: ${reason}`
    : `the proxy ${url.origin} cannot be reached (${reason}); start it or fix ${named}`;
  return new ProxyError('ERR_PROXY_UNREACHABLE', message, { cause });
}

export function refusedBy({ url, headers, named }: Proxy, status: number): ProxyError {
  const name = STATUS_CODES[status];
  const answer = `${status}${name === undefined ? '' : ` ${name}`}`;
  const why = `the proxy ${url.origin} refused the connection with ${answer}`;
  return new ProxyError('ERR_PROXY_REFUSED', `${why}; ${nextStep(status, headers, named)}`);
}

function nextStep(status: number, headers: Proxy['headers'], named: string): string {
  if (status !== 407) return `let it allow this address, or fix ${named}`;
  return Object.keys(headers).length === 0
    ? `write user:password@ before the host in ${named}`
    : `fix the user or the password in ${named}`;
}

export interface TunnelSetup {
  readonly clock: Clock;
  /** Looks up the proxy. */
  readonly lookup: LookupFunction;
  readonly secureContext: SecureContext | undefined;
  readonly attemptMs: number;
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/**
 * Resolves with a connection to the host through the proxy.
 * @throws ProxyError
 */
export function openTunnel(
  proxy: Proxy,
  target: string,
  { clock, lookup, secureContext, attemptMs, limitMs, signal }: TunnelSetup,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const send = proxy.url.protocol === 'https:' ? requestSecure : requestPlain;
    const options = {
      method: 'CONNECT',
      path: target,
      headers: { host: target, 'user-agent': `mcp-troupe/${version}`, ...proxy.headers },
      agent: false,
      lookup,
      autoSelectFamilyAttemptTimeout: attemptMs,
      signal,
      ...(secureContext && { secureContext }),
    };
    const request = send(proxy.url, options);
    const stop = startDeadline(clock, limitMs, () =>
      request.destroy(new Error(`no answer within ${limitMs} ms`)),
    );
    request.once('connect', ({ statusCode = 0 }: IncomingMessage, socket: Socket, head: Buffer) => {
      stop();
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy();
        reject(refusedBy(proxy, statusCode));
        return;
      }
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    request.once('error', (error) => {
      stop();
      reject(error instanceof BlockedError ? error : unreachable(proxy, error));
    });
    request.end();
  });
}
