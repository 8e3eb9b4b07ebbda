/** Makes connections, directly or through a proxy, to addresses that are allowed. */

import type { LookupAddress, LookupAllOptions } from 'node:dns';
import { type ClientRequestArgs, Agent as PlainAgent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';

import type { Clock } from '../../../src/domain/clock.ts';
import { type AddressRange, blocked, rangeOf } from './addresses.ts';
import { openTunnel, type Proxy } from './proxy.ts';
import type { Ways } from './proxy-and-tls.ts';

// One for each of 64 calls that may be in flight, and one each for the list, the ping, a notification
// and the final DELETE.
const maxIdleSockets = 68;
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

interface AgentSetup {
  readonly clock: Clock;
  readonly isAllowed: (range: AddressRange) => boolean;
  readonly resolve: ResolveAll;
  readonly reach: Ways | undefined;
  /** Called with each connection that is not in use any more. */
  readonly onFree: (socket: Socket) => void;
}

/** Creates the agents of one session, each at its first use. */
export function createAgents({ clock, isAllowed, resolve, reach, onFree }: AgentSetup) {
  const agents = new Map<string, PlainAgent>();
  let closing: AbortController | undefined;
  // The proxy's own address comes from the settings or the environment.
  const toProxy = lookupOf(resolve, (range) => range !== 'forbidden');
  const found = (key: string, create: () => PlainAgent): PlainAgent => {
    const agent = agents.get(key) ?? create().on('free', onFree);
    agents.set(key, agent);
    return agent;
  };
  return {
    direct: ({ protocol }: URL): PlainAgent =>
      found(protocol, () => {
        const context = protocol === 'https:' ? reach?.secureContext : undefined;
        return createAgent(protocol, lookupOf(resolve, isAllowed), context);
      }),
    /** For connections to the server itself. */
    tunnelled: ({ protocol }: URL, proxy: Proxy): PlainAgent =>
      found(`${protocol} through ${proxy.named}`, () => {
        const { signal } = (closing ??= new AbortController());
        const context = protocol === 'https:' ? reach?.secureContext : undefined;
        return throughTunnel(createAgent(protocol, toProxy, context), (target) =>
          openTunnel(proxy, target, {
            clock,
            lookup: toProxy,
            secureContext: proxy.url.protocol === 'https:' ? reach?.proxyContext : undefined,
            attemptMs: addressAttemptMs,
            limitMs: tunnelMs,
            signal,
          }),
        );
      }),
    /** For requests that are sent to the proxy. */
    relayed: (proxy: Proxy): PlainAgent =>
      found(`relay ${proxy.named}`, () => {
        const { protocol } = proxy.url;
        const context = protocol === 'https:' ? reach?.proxyContext : undefined;
        return createAgent(protocol, toProxy, context);
      }),
    all: () => agents.values(),
    /** Closes all connections, also unfinished ones. */
    close(): void {
      closing?.abort();
      for (const agent of agents.values()) agent.destroy();
      agents.clear();
    },
  };
}

function createAgent(
  protocol: string,
  lookup: LookupFunction,
  secureContext: Ways['secureContext'],
): PlainAgent {
  const options = {
    keepAlive: true,
    maxFreeSockets: maxIdleSockets,
    lookup,
    autoSelectFamilyAttemptTimeout: addressAttemptMs,
    ...(secureContext && { secureContext }),
  };
  return protocol === 'https:' ? new SecureAgent(options) : new PlainAgent(options);
}

/** Resolves names to allowed addresses only. */
export function lookupOf(
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
  // Starts TLS in a given socket.
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options: ClientRequestArgs, callback) => {
    const { port } = options;
    const host = options.host ?? '';
    const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
    const settle = callback as (error: Error | null, socket?: Socket) => void;
    open(target)
      .then((socket) => {
        const within = { ...options, socket } as ClientRequestArgs;
        return isSecure ? (connect(within) as Socket) : socket;
      })
      .then(
        (socket) => settle(null, socket),
        (error: Error) => settle(error),
      );
    return undefined;
  };
  return agent;
}
