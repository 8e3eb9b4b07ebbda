/**
 * An authorization server and an MCP server that it protects, in this process on one port of this
 * machine. It checks everything that a real one does, and misbehaves on request.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';

import { echoed } from './echo.ts';
import { authorize, deviceAuthorization, register, revocation } from './front.ts';
import { providerToken, token } from './grants.ts';
import { issuerMetadata, resourceMetadata } from './places.ts';
import { mcp, upgrade } from './resource.ts';
import { defaultSettings, type Fault, type IssuerSettings, noCounts } from './settings.ts';
import type { IssuerState, Reply, Seen } from './state.ts';
import { TokenBook } from './tokens.ts';

export interface TestIssuer extends IssuerState {
  /** All requests, oldest first. */
  readonly seen: readonly Seen[];
  seenAt(path: string): readonly Seen[];
  /** Resolves when the next request for this path arrives. */
  arrives(path: string): Promise<void>;
  /** Opens an authorization URL as a user's browser would; returns the URL of the redirect. */
  consent(url: URL): Promise<URL>;
  /** Decides about a login on another device. */
  decide(userCode: string, decision: 'allowed' | 'denied'): void;
  close(): Promise<void>;
}

/** Starts it. `port` 0 is any free one. */
export async function startTestIssuer(
  given: Partial<IssuerSettings> = {},
  port = 0,
): Promise<TestIssuer> {
  const settings = { ...defaultSettings(), ...given };
  const counts = noCounts();
  const sockets = new Set<Socket>();
  const seen: Seen[] = [];
  const waiting = new Map<string, () => void>();
  const server = createServer((request, response) => {
    void (async () => {
      const each = await seenOf(request);
      seen.push(each);
      waiting.get(each.path)?.();
      if (breaks(settings, each, response)) return;
      const { status, headers, json, html } = replyTo(own, each);
      await settings.holds.get(each.path);
      const body = json === undefined ? html : JSON.stringify(json);
      const type = { 'content-type': json === undefined ? 'text/html' : 'application/json' };
      response.writeHead(status, { ...(body !== undefined && type), ...headers }).end(body);
    })();
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (request, socket, head) => upgrade(own, request, socket, head));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const now = (): number => Date.now() + settings.clockSkewMs;
  const own: IssuerState = {
    settings,
    counts,
    book: new TokenBook(settings, counts, now, () => own.issuer()),
    clients: new Map(),
    devices: new Map(),
    seenIds: new Set(),
    grants: new Map(),
    origin,
    issuer: () => `${origin}${settings.issuerPath}`,
    server: `${origin}/mcp`,
    now,
  };
  return {
    ...own,
    seen,
    seenAt: (path) => seen.filter((each) => each.path === path),
    arrives: (path) => new Promise((resolve) => waiting.set(path, resolve)),
    async consent(url) {
      const answer = await fetch(url, { redirect: 'manual' });
      const location = answer.headers.get('location');
      if (location === null)
        throw new Error(`no redirect: ${answer.status} ${await answer.text()}`);
      return new URL(location);
    },
    decide(userCode, decision) {
      for (const each of own.devices.values())
        if (each.userCode === userCode) each.decision = decision;
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function seenOf(request: IncomingMessage): Promise<Seen> {
  const { method = '', headers, url = '/' } = request;
  const { pathname, searchParams } = new URL(url, 'http://issuer');
  const body = await text(request);
  return {
    method,
    path: pathname,
    query: searchParams,
    headers,
    form: new URLSearchParams(body),
    body,
  };
}

/** Applies the fault of a path. */
function breaks({ faults }: IssuerSettings, seen: Seen, response: ServerResponse): boolean {
  const entry = faults.get(seen.path);
  if (entry === undefined || entry.times === 0) return false;
  if (entry.times !== undefined) entry.times -= 1;
  answerBadly(entry.fault, seen, response);
  return true;
}

const hugeBytes = 5_000_000;

function answerBadly(given: Fault, seen: Seen, response: ServerResponse): void {
  const fault = typeof given === 'object' && 'echo' in given ? echoed(given, seen) : given;
  if (fault === 'hang') return;
  if (fault === 'reset') return void response.socket?.resetAndDestroy();
  if (fault === 'huge')
    return void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ text: 'x'.repeat(hugeBytes) }));
  response.writeHead(fault.status, fault.headers).end(fault.body);
}

type Handler = (state: IssuerState, seen: Seen) => Reply;

function replyTo(state: IssuerState, seen: Seen): Reply {
  const metadata = issuerMetadata(state, seen.path) ?? resourceMetadata(state, seen.path);
  if (metadata !== undefined) return { status: 200, json: metadata };
  const { issuerPath: base } = state.settings;
  const handlers: Readonly<Record<string, Handler>> = {
    [`${base}/authorize`]: authorize,
    [`${base}/token`]: token,
    [`${base}/register`]: register,
    [`${base}/revoke`]: revocation,
    [`${base}/device`]: deviceAuthorization,
    '/idp/token': providerToken,
    '/mcp': mcp,
  };
  return handlers[seen.path]?.(state, seen) ?? { status: 404, json: { error: 'not_found' } };
}
