/**
 * Receives the response of a login from the user's browser, on this machine.
 *
 * Any program and any page can send requests to the port. So only a response to this login ends the
 * wait, requests that name another host are refused (DNS rebinding), and the page shows nothing of
 * what was received.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { answerWith, type RedirectAnswer } from './redirect-page.ts';

export interface RedirectListener {
  readonly redirectUri: string;
  /**
   * Resolves with the first response that is expected; rejects when the signal is aborted.
   *
   * @param isExpected - whether the response belongs to this login
   */
  response(
    isExpected: (response: URLSearchParams) => boolean,
    signal: AbortSignal,
  ): Promise<URLSearchParams>;
  close(): void;
}

const usualPath = '/callback';
const base = 'http://127.0.0.1';
// A browser sends a few kilobytes of headers and one code.
const maxHeaderBytes = 32_768;

/** Where the browser returns to. */
export interface RedirectPlace {
  /** `127.0.0.1`, `[::1]`, or `localhost`, which may be either to the browser. */
  readonly hostname: string;
  readonly path: string;
}

/**
 * Listens on this machine.
 *
 * @param ports - tried in this order; a free port is chosen after them
 * @param isFixed - whether only these ports will do
 * @throws a system error if no port can be taken
 */
export async function listenForRedirect(
  ports: readonly number[],
  isFixed: boolean,
  { hostname, path }: RedirectPlace = { hostname: '127.0.0.1', path: usualPath },
): Promise<RedirectListener> {
  let deliver: ((response: URLSearchParams) => boolean) | undefined;
  const create = (): Server =>
    createServer({ maxHeaderSize: maxHeaderBytes }, (request, response) => {
      answerWith(response, answerFor(request, path, deliver));
    }).unref();
  const { servers, port } = await listen(
    create,
    addressesOf[hostname] ?? addressesOf.localhost,
    isFixed ? ports : [...ports, 0],
  );
  return {
    redirectUri: `http://${hostname}:${port}${path}`,
    response: (isExpected, signal) =>
      new Promise((resolve, reject) => {
        const end = (): void => reject(signal.reason as Error);
        if (signal.aborted) return end();
        signal.addEventListener('abort', end, { once: true });
        deliver = (response) => {
          if (!isExpected(response)) return false;
          signal.removeEventListener('abort', end);
          resolve(response);
          return true;
        };
      }),
    close() {
      deliver = undefined;
      closeAll(servers);
    },
  };
}

const addressesOf: Readonly<Record<string, readonly string[]>> & {
  readonly localhost: readonly string[];
} = { '127.0.0.1': ['127.0.0.1'], '[::1]': ['::1'], localhost: ['127.0.0.1', '::1'] };

/** Takes the first port that is free at all addresses which this machine has. */
async function listen(
  create: () => Server,
  addresses: readonly string[],
  ports: readonly number[],
): Promise<{ readonly servers: readonly Server[]; readonly port: number }> {
  let last = new Error('no port was given');
  for (const wanted of ports) {
    try {
      return await listenAtAll(create, addresses, wanted);
    } catch (error) {
      last = error instanceof Error ? error : last;
    }
  }
  throw last;
}

async function listenAtAll(
  create: () => Server,
  addresses: readonly string[],
  wanted: number,
): Promise<{ readonly servers: readonly Server[]; readonly port: number }> {
  const servers: Server[] = [];
  let port = wanted;
  try {
    for (const address of addresses) {
      const server = await listenAt(create(), port, address, servers.length > 0);
      if (server === undefined) continue;
      servers.push(server);
      ({ port } = server.address() as AddressInfo);
    }
    return { servers, port };
  } catch (error) {
    closeAll(servers);
    throw error;
  }
}

/** A machine without IPv6 listens on its other address only. */
async function listenAt(
  server: Server,
  port: number,
  address: string,
  isOptional: boolean,
): Promise<Server | undefined> {
  try {
    await once(server.listen(port, address), 'listening');
    return server;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (isOptional && (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT')) return undefined;
    throw error;
  }
}

function closeAll(servers: readonly Server[]): void {
  for (const server of servers) {
    server.close();
    server.closeIdleConnections();
  }
}

function answerFor(
  { method, url = '/', headers, socket }: IncomingMessage,
  path: string,
  deliver: ((response: URLSearchParams) => boolean) | undefined,
): RedirectAnswer {
  const own = ['127.0.0.1', 'localhost', '[::1]'].map((host) => `${host}:${socket.localPort}`);
  if (!own.includes(headers.host ?? '')) return 'otherHost';
  // Anyone can send "//", which is not a URL.
  if (!URL.canParse(url, base)) return 'notFound';
  const { pathname, searchParams } = new URL(url, base);
  if (pathname !== path) return 'notFound';
  if (method !== 'GET') return 'otherMethod';
  if (deliver?.(searchParams) !== true) return 'noLogin';
  return searchParams.has('error') ? 'refused' : 'received';
}
