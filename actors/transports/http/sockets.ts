/**
 * The connections of one session: checked against the address policy when they are made, kept for
 * reuse, and closed with the session.
 *
 * If the server closes a connection just as a request is sent on it, the client cannot know whether
 * the request ran. An idle connection is therefore closed before the server would do so: a second
 * before the announced time, otherwise soon.
 */

import { type LookupAddress, type LookupAllOptions, lookup as resolveName } from 'node:dns';
import { type IncomingMessage, Agent as PlainAgent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';

import type { Clock } from '../../../src/domain/clock.ts';
import { startDeadline } from '../../host/time-limit.ts';
import { type AddressRange, rangeOf } from './addresses.ts';

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

/** Thrown for an address that the policy does not allow. No byte was sent. */
export class AddressBlockedError extends Error {
  override readonly name = 'AddressBlockedError';
  readonly code = 'ERR_ADDRESS_BLOCKED';
}

/** Resolves all addresses of a name, like `lookup` of `node:dns`. */
export type ResolveAll = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export type Sockets = ReturnType<typeof createSockets>;

export function createSockets(
  clock: Clock,
  isAllowed: (range: AddressRange) => boolean,
  resolve: ResolveAll = resolveName,
) {
  const agents = new Map<string, PlainAgent>();
  const idleMs = new WeakMap<Socket, number>();
  // Nearly every request goes to the same host, and checking an address is not free.
  let lastHost: string | undefined;
  const blocked = (where: string) =>
    new AddressBlockedError(`connecting to ${where} is not allowed`);
  const lookup: LookupFunction = (host, options, callback) => {
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
  const keep = (socket: Socket): void => {
    if (socket.destroyed) return;
    const forMs = idleMs.get(socket) ?? keptIdleMs;
    if (forMs <= 0) return void socket.destroy();
    if (!stopIdle.has(socket)) socket.once('close', () => endIdle(socket));
    const end = (): void => void socket.destroy();
    stopIdle.set(socket, startDeadline(clock, forMs, end));
  };
  const create = (protocol: string): PlainAgent => {
    const options = {
      keepAlive: true,
      maxFreeSockets: maxIdleSockets,
      lookup,
      autoSelectFamilyAttemptTimeout: addressAttemptMs,
    };
    const agent = protocol === 'https:' ? new SecureAgent(options) : new PlainAgent(options);
    agents.set(protocol, agent);
    return agent.on('free', keep);
  };
  return {
    /** Throws an {@link AddressBlockedError} for a host that is itself a forbidden address. */
    agentFor({ protocol, hostname }: URL): PlainAgent {
      if (hostname !== lastHost) {
        // A literal address is never looked up.
        const host = hostname.replace(/^\[|\]$/gu, '');
        if (isIP(host) !== 0 && !isAllowed(rangeOf(host))) throw blocked(host);
        lastHost = hostname;
      }
      return agents.get(protocol) ?? create(protocol);
    },
    /**
     * Throws an {@link AddressBlockedError} if a connection would. Resolves if the name cannot be
     * resolved: that is another failure, of the request.
     */
    async check(url: URL): Promise<void> {
      this.agentFor(url);
      const host = url.hostname.replace(/^\[|\]$/gu, '');
      if (isIP(host) !== 0) return;
      const failure = await new Promise<unknown>((done) => {
        lookup(host, { all: true }, (error) => done(error));
      });
      if (failure instanceof AddressBlockedError) throw failure;
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
      for (const agent of agents.values()) agent.destroy();
      agents.clear();
    },
  };
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
