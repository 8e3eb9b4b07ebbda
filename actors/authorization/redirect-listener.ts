/**
 * Receives the response of a login from the user's browser, on this machine.
 *
 * Any program and any page can send requests to the port. So only a response to this login ends the
 * wait, requests that name another host are refused (DNS rebinding), and the page shows nothing of
 * what was received.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

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

/**
 * Listens on the loopback address.
 *
 * @param ports - tried in this order; a free port is chosen after them
 * @param isFixed - whether only these ports will do
 * @param path - where the browser returns to
 * @throws a system error if no port can be taken
 */
export async function listenForRedirect(
  ports: readonly number[],
  isFixed: boolean,
  path = usualPath,
): Promise<RedirectListener> {
  let deliver: ((response: URLSearchParams) => boolean) | undefined;
  const server = createServer({ maxHeaderSize: maxHeaderBytes }, (request, response) => {
    answer(response, statusFor(request, path, deliver));
  });
  server.unref();
  const port = await listen(server, isFixed ? ports : [...ports, 0]);
  return {
    redirectUri: `http://127.0.0.1:${port}${path}`,
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
      server.close();
      server.closeIdleConnections();
    },
  };
}

async function listen(
  server: ReturnType<typeof createServer>,
  ports: readonly number[],
): Promise<number> {
  for (const [index, port] of ports.entries()) {
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening');
      return (server.address() as AddressInfo).port;
    } catch (error) {
      if (index === ports.length - 1) throw error;
    }
  }
  throw new Error('no port was given');
}

function statusFor(
  { method, url = '/', headers, socket }: IncomingMessage,
  path: string,
  deliver: ((response: URLSearchParams) => boolean) | undefined,
): number {
  const own = [`127.0.0.1:${socket.localPort}`, `localhost:${socket.localPort}`];
  if (!own.includes(headers.host ?? '')) return 403;
  // Anyone can send "//", which is not a URL.
  if (!URL.canParse(url, base)) return 404;
  const { pathname, searchParams } = new URL(url, base);
  if (pathname !== path) return 404;
  if (method !== 'GET') return 405;
  return deliver?.(searchParams) === true ? 200 : 400;
}

const words: Readonly<Record<number, string>> = {
  200: 'The response was received. You can close this window.',
  400: 'This response belongs to no login that is under way.',
};

function answer(response: ServerResponse, status: number): void {
  const text = words[status] ?? 'Not found.';
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(
    `<!doctype html><meta charset="utf-8"><title>mcp-troupe</title><body style="font:1rem system-ui;margin:3rem">${text}`,
  );
}
