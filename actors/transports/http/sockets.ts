/**
 * The connections of one session: checked against the address policy when they are made, kept for
 * reuse, and closed with the session.
 *
 * If the server closes a connection just as a request is sent on it, the client cannot know whether
 * the request ran. An idle connection is therefore closed before the server would do so: a second
 * before the announced time, otherwise soon.
 */

import { lookup as resolveName } from 'node:dns';
import type { IncomingMessage, Agent as PlainAgent, RequestOptions } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { urlToHttpOptions } from 'node:url';

import { type Clock, startDeadline } from '../../../src/domain/clock.ts';
import { type AddressRange, BlockedError, blocked, hostRangeOf } from './addresses.ts';
import { createAgents, lookupOf, type ResolveAll } from './agents.ts';
import type { Proxy } from './proxy.ts';
import type { Ways } from './proxy-and-tls.ts';

// Node servers close after five seconds without a request, others later.
const keptIdleMs = 4_000;
// The response that announces the time travels while that time is running.
const announcedMarginMs = 1_000;
// Whatever a server announces, routers forget connections that are idle for minutes.
const longestIdleMs = 60_000;

export interface SocketOptions {
  readonly resolve?: ResolveAll | undefined;
  /** How servers are reached. Default: directly, with Node's certificates. */
  readonly reach?: Ways | undefined;
}

/** The connections to use for a request. */
export interface Route {
  readonly agent: PlainAgent;
  /** The parts of the URL; reading them takes time. */
  readonly target: RequestOptions;
  /** The proxy to which the request itself is sent. */
  readonly relay?: Proxy;
}

export type Sockets = ReturnType<typeof createSockets>;

const closedError = { name: 'ClosedError', code: 'CONNECTION_CLOSED' };

export function createSockets(
  clock: Clock,
  isAllowed: (range: AddressRange) => boolean,
  { resolve = resolveName, reach }: SocketOptions = {},
) {
  const idleMs = new WeakMap<Socket, number>();
  // Nearly every request goes to the same host, and checking an address is not free.
  let last: { readonly url: URL; readonly host: string; readonly route: Route } | undefined;
  const keep = (socket: Socket): void => {
    if (socket.destroyed) return;
    const forMs = idleMs.get(socket) ?? keptIdleMs;
    if (forMs <= 0) return void socket.destroy();
    if (!stopIdle.has(socket)) socket.once('close', () => endIdle(socket));
    const end = (): void => void socket.destroy();
    stopIdle.set(socket, startDeadline(clock, forMs, end));
  };
  const agents = createAgents({ clock, isAllowed, resolve, reach, onFree: keep });
  const proxyFor = (url: URL): Proxy | undefined => {
    const proxy = reach?.proxyFor(url);
    // A literal address is never looked up, and behind a proxy no name is.
    const host = url.hostname.replace(/^\[|\]$/gu, '');
    const isLiteral = isIP(host) !== 0;
    const range = proxy === undefined && !isLiteral ? undefined : hostRangeOf(host);
    if (range !== undefined && !isAllowed(range)) throw blocked(host);
    if (proxy !== undefined && isForbiddenProxy(proxy)) throw blocked(proxy.url.hostname);
    return proxy;
  };
  const wayTo = (url: URL): Omit<Route, 'target'> => {
    const proxy = proxyFor(url);
    if (proxy === undefined) return { agent: agents.direct(url) };
    if (url.protocol === 'http:') return { agent: agents.relayed(proxy), relay: proxy };
    return { agent: agents.tunnelled(url, proxy) };
  };
  let isClosed = false;
  const assertOpen = (): void => {
    if (isClosed) throw Object.assign(new Error('the session is closed'), closedError);
  };
  const routeTo = (url: URL): Route => {
    // Closing breaks off a request on a kept connection, which must not be repeated on a new one.
    assertOpen();
    if (url === last?.url) return last.route;
    const { host, protocol } = url;
    const isSameHost = host === last?.host && protocol === last.url.protocol;
    const way = isSameHost && last !== undefined ? last.route : wayTo(url);
    last = { url, host, route: { ...way, target: targetOf(url) } };
    return last.route;
  };
  return {
    /** Throws a {@link BlockedError} for a host that is itself a forbidden address. */
    routeTo,
    /** Like `routeTo`, for a connection that carries something other than HTTP requests. */
    agentFor(url: URL): PlainAgent {
      assertOpen();
      const proxy = proxyFor(url);
      return proxy === undefined ? agents.direct(url) : agents.tunnelled(url, proxy);
    },
    /**
     * Throws a {@link BlockedError} if a connection would. Resolves if the name cannot be
     * resolved: that is another failure, of the request.
     */
    async check(url: URL): Promise<void> {
      assertOpen();
      const proxy = proxyFor(url);
      const host = url.hostname.replace(/^\[|\]$/gu, '');
      // A proxy looks names up itself.
      if (proxy !== undefined || isIP(host) !== 0) return;
      const lookup = lookupOf(resolve, isAllowed);
      const failure = await new Promise<unknown>((done) => {
        lookup(host, { all: true }, (error) => done(error));
      });
      if (failure instanceof BlockedError) throw failure;
    },
    /** Records how long the server keeps this response's connection open. */
    answered({ socket, headers }: IncomingMessage): void {
      const announced = [headers['keep-alive'] ?? []].flat().join();
      if (announced !== '') idleMs.set(socket, announcedIdleMs(announced));
    },
    /** Closes idle connections. */
    dropIdle(): void {
      for (const agent of agents.all())
        for (const sockets of Object.values(agent.freeSockets))
          for (const socket of [...(sockets ?? [])]) socket.destroy();
    },
    /** Closes all connections; none is made from then on. */
    close(): void {
      isClosed = true;
      agents.close();
      last = undefined;
    },
  };
}

function targetOf(url: URL): RequestOptions {
  const { protocol, hostname, port, path } = urlToHttpOptions(url);
  return { protocol, hostname, port, path };
}

function isForbiddenProxy({ url }: Proxy): boolean {
  return hostRangeOf(url.hostname) === 'forbidden';
}

/** Returns how long a connection may stay idle, in milliseconds; 0 means not at all. */
export function announcedIdleMs(keepAlive: string): number {
  const seconds = /(?:^|[,;\s])timeout\s*=\s*"?(\d{1,9})/iu.exec(keepAlive)?.[1];
  if (seconds === undefined) return keptIdleMs;
  const ms = Number(seconds) * 1_000 - announcedMarginMs;
  return Math.min(longestIdleMs, Math.max(0, ms));
}

const stopIdle = new WeakMap<Socket, () => void>();

/** Called when the connection is in use again. */
export function endIdle(socket: Socket): void {
  stopIdle.get(socket)?.();
}
