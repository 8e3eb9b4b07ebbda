/**
 * The connections of one session: checked against the address policy when they are made, kept for
 * reuse, and closed with the session.
 *
 * If the server closes a connection just as a request is sent on it, the client cannot know whether
 * the request ran. An idle connection is therefore closed before the server would do so: a second
 * before the announced time, otherwise soon.
 */

import { type LookupAddress, type LookupAllOptions, lookup as resolveName } from 'node:dns';
import { type ClientRequestArgs, type IncomingMessage, Agent as PlainAgent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';

import type { Clock } from '../../../src/domain/clock.ts';
import { startDeadline } from '../../host/time-limit.ts';
import { AddressBlockedError, type AddressRange, hostRangeOf, rangeOf } from './addresses.ts';
import { openTunnel, type Proxy } from './proxy.ts';
import type { Ways } from './reach.ts';

// Node servers close after five seconds without a request, others later.
const keptIdleMs = 4_000;
// The response that announces the time travels while that time is running.
const announcedMarginMs = 1_000;
// Whatever a server announces, routers forget connections that are idle for minutes.
const longestIdleMs = 60_000;
// One for each call that may be in flight, and one each for the list, the ping and the final
// DELETE.
const maxIdleSockets = 20;
// Node gives each address of a host a quarter of a second, less than the round trip to a distant
// host.
const addressAttemptMs = 1_000;

// As long as a connection without a proxy may take.
const tunnelMs = 10_000;

/** Resolves all addresses of a name, like `lookup` of `node:dns`. */
export type ResolveAll = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface SocketOptions {
  readonly resolve?: ResolveAll | undefined;
  /** How servers are reached. Default: directly, with Node's certificates. */
  readonly reach?: Ways | undefined;
}

/** The connections to use for a request. */
export interface Route {
  readonly agent: PlainAgent;
  /** The proxy to which the request itself is sent. */
  readonly relay?: Proxy;
}

export type Sockets = ReturnType<typeof createSockets>;

export function createSockets(
  clock: Clock,
  isAllowed: (range: AddressRange) => boolean,
  { resolve = resolveName, reach }: SocketOptions = {},
) {
  const agents = new Map<string, PlainAgent>();
  const closing = new AbortController();
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
  const create = (
    protocol: string,
    lookup: LookupFunction,
    whose: 'secureContext' | 'proxyContext',
  ): PlainAgent => {
    const secureContext = protocol === 'https:' ? reach?.[whose] : undefined;
    const options = {
      keepAlive: true,
      maxFreeSockets: maxIdleSockets,
      lookup,
      autoSelectFamilyAttemptTimeout: addressAttemptMs,
      ...(secureContext && { secureContext }),
    };
    const agent = protocol === 'https:' ? new SecureAgent(options) : new PlainAgent(options);
    return agent.on('free', keep);
  };
  const found = (key: string, make: () => PlainAgent): PlainAgent => {
    const agent = agents.get(key) ?? make();
    agents.set(key, agent);
    return agent;
  };
  const direct = ({ protocol }: URL): PlainAgent =>
    found(protocol, () => create(protocol, lookupOf(resolve, isAllowed), 'secureContext'));
  // The proxy's own address comes from the settings or the environment.
  const toProxy = lookupOf(resolve, (range) => range !== 'forbidden');
  const tunnelled = ({ protocol }: URL, proxy: Proxy): PlainAgent =>
    found(`${protocol} through ${proxy.named}`, () => {
      const agent = create(protocol, toProxy, 'secureContext');
      return throughTunnel(agent, (target) =>
        openTunnel(proxy, target, {
          clock,
          lookup: toProxy,
          secureContext: proxy.url.protocol === 'https:' ? reach?.proxyContext : undefined,
          attemptMs: addressAttemptMs,
          limitMs: tunnelMs,
          signal: closing.signal,
        }),
      );
    });
  const relayed = (proxy: Proxy): PlainAgent =>
    found(`relay ${proxy.named}`, () => create(proxy.url.protocol, toProxy, 'proxyContext'));
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
  const routeTo = (url: URL): Route => {
    if (url === last?.url) return last.route;
    const { host, protocol } = url;
    if (host === last?.host && protocol === last.url.protocol) return last.route;
    const proxy = proxyFor(url);
    const route =
      proxy === undefined
        ? { agent: direct(url) }
        : protocol === 'http:'
          ? { agent: relayed(proxy), relay: proxy }
          : { agent: tunnelled(url, proxy) };
    last = { url, host, route };
    return route;
  };
  return {
    /** Throws an {@link AddressBlockedError} for a host that is itself a forbidden address. */
    routeTo,
    /** Like `routeTo`, for a connection that carries something other than HTTP requests. */
    agentFor(url: URL): PlainAgent {
      const proxy = proxyFor(url);
      return proxy === undefined ? direct(url) : tunnelled(url, proxy);
    },
    /** Records how long the server keeps this response's connection open. */
    answered({ socket, headers }: IncomingMessage): void {
      const announced = [headers['keep-alive'] ?? []].flat().join();
      if (announced !== '') idleMs.set(socket, announcedIdleMs(announced));
    },
    /** Closes idle connections. */
    dropIdle(): void {
      for (const agent of agents.values())
        for (const sockets of Object.values(agent.freeSockets))
          for (const socket of [...(sockets ?? [])]) socket.destroy();
    },
    /** Closes all connections. */
    close(): void {
      closing.abort();
      for (const agent of agents.values()) agent.destroy();
      agents.clear();
      last = undefined;
    },
  };
}

function blocked(where: string): AddressBlockedError {
  return new AddressBlockedError(`connecting to ${where} is not allowed`);
}

function isForbiddenProxy({ url }: Proxy): boolean {
  return hostRangeOf(url.hostname) === 'forbidden';
}

/** Resolves names to allowed addresses only. */
function lookupOf(
  resolve: ResolveAll,
  isAllowed: (range: AddressRange) => boolean,
): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const [first, ...others] = addresses.filter(({ address }) => isAllowed(rangeOf(address)));
      if (first === undefined) {
        const found = addresses.map(({ address }) => address).join(', ');
        return callback(blocked(`${host} (${found})`), []);
      }
      if (options.all === true) callback(null, [first, ...others]);
      else callback(null, first.address, first.family);
    });
  };
}

/** Makes an agent's connections lead through tunnels. */
function throughTunnel(agent: PlainAgent, open: (target: string) => Promise<Socket>): PlainAgent {
  const isSecure = agent instanceof SecureAgent;
  const secure = SecureAgent.prototype.createConnection;
  agent.createConnection = (options: ClientRequestArgs, callback) => {
    const { port } = options;
    const host = options.host ?? '';
    const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
    const settle = (error: Error | null, socket?: Socket): void =>
      (callback as (error: Error | null, socket?: Socket) => void)(error, socket);
    open(target).then(
      (socket) =>
        settle(null, isSecure ? (secure.call(agent, { ...options, socket }) as Socket) : socket),
      (error: Error) => settle(error),
    );
    return undefined;
  };
  return agent;
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
