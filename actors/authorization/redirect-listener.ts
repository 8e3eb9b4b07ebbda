/**
 * Receives the response of a login from the user's browser, on this machine.
 *
 * Any program and any page can send requests to the port. So only a response to this login ends the
 * wait, requests that name another host are refused (DNS rebinding), and the page shows nothing of
 * what was received.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConnectionLimits, usualStrangers } from '../host/connection-limits.ts';
import { httpListener, type Listener } from '../host/listener.ts';

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
// Nobody has a secret before the login, so all logins share one limit.
const browsers = new ConnectionLimits({ strangers: usualStrangers, known: 0 });
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
  const create = (): Listener => {
    const listener = httpListener(
      browsers,
      (request, response) => answerWith(response, answerFor(request, path, deliver)),
      { maxHeaderSize: maxHeaderBytes },
    );
    listener.server.unref();
    return listener;
  };
  const { listeners, port } = await listen(
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
      closeAll(listeners);
    },
  };
}

const addressesOf: Readonly<Record<string, readonly string[]>> & {
  readonly localhost: readonly string[];
} = { '127.0.0.1': ['127.0.0.1'], '[::1]': ['::1'], localhost: ['127.0.0.1', '::1'] };

interface Listening {
  readonly listeners: readonly Listener[];
  readonly port: number;
}

/** Takes the first port that is free at all addresses which this machine has. */
async function listen(
  create: () => Listener,
  addresses: readonly string[],
  ports: readonly number[],
): Promise<Listening> {
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
  create: () => Listener,
  addresses: readonly string[],
  wanted: number,
): Promise<Listening> {
  const listeners: Listener[] = [];
  let port = wanted;
  try {
    for (const host of addresses) {
      const listener = await listenAt(create(), port, host, listeners.length > 0);
      if (listener === undefined) continue;
      listeners.push(listener);
      ({ port } = listener);
    }
    return { listeners, port };
  } catch (error) {
    closeAll(listeners);
    throw error;
  }
}

/** A machine without IPv6 listens on its other address only. */
async function listenAt(
  listener: Listener,
  port: number,
  host: string,
  isOptional: boolean,
): Promise<Listener | undefined> {
  try {
    return await listener.listen({ port, host });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (isOptional && (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT')) return undefined;
    throw error;
  }
}

function closeAll(listeners: readonly Listener[]): void {
  for (const listener of listeners) listener.closeAfterAnswers();
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

type RedirectAnswer =
  /** The issuer sent a code. */
  | 'received'
  /** The issuer, or the user there, refused. */
  | 'refused'
  | 'noLogin'
  | 'otherHost'
  | 'notFound'
  | 'otherMethod';

interface Page {
  readonly status: number;
  readonly title: string;
  readonly text: string;
}

const nothing = { title: 'Not found', text: 'There is no page here.' };

const pages: Readonly<Record<RedirectAnswer, Page>> = {
  received: {
    status: 200,
    title: 'Almost done',
    text: 'mcp-troupe is completing the login. You can close this window and return to where you started.',
  },
  refused: {
    status: 200,
    title: 'Login refused',
    text: 'mcp-troupe was not given access. You can close this window; the reason is shown where you started.',
  },
  noLogin: {
    status: 400,
    title: 'No such login',
    text: 'This response belongs to no login that is under way. Start the login again.',
  },
  otherHost: { status: 403, ...nothing },
  notFound: { status: 404, ...nothing },
  otherMethod: { status: 405, ...nothing },
};

const style =
  ':root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}' +
  'body{max-width:28rem;margin:20vh auto 0;padding:0 1.5rem}' +
  'h1{font-size:1.5rem;margin:0 0 .5rem}p{margin:0}';

/** Answers with a page that shows nothing of what was received. */
function answerWith(response: ServerResponse, answer: RedirectAnswer): void {
  const { status, title, text } = pages[answer];
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} – mcp-troupe</title><style>${style}</style><h1>${title}</h1><p>${text}</p></html>\n`,
  );
}
