/** A small HTTP server and a guarded fetch of it; a test says how the server answers. */

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';

import { onTestFinished } from 'vitest';
import type { ResolveAll } from '../../../../actors/transports/http/agents.ts';
import { createGuardedFetch, type FetchOptions } from '../../../../actors/transports/http/fetch.ts';
import type { Clock } from '../../../../src/domain/clock.ts';
import { realClock } from '../../../../src/runtime/real-clock.ts';

export interface Peer {
  readonly origin: string;
  /** How many connections were made. */
  readonly connections: () => number;
  /** Resolves when all connections are closed. */
  quiet(): Promise<void>;
  readonly close: () => Promise<void>;
}

/** No time to live is announced unless it is given. */
export async function serve(listener: RequestListener, announcedMs = 0): Promise<Peer> {
  const server = createServer(listener);
  server.keepAliveTimeout = announcedMs;
  return listen(server, 'http');
}

export async function listen(server: Server, scheme: 'http' | 'https'): Promise<Peer> {
  const sockets = new Set<Socket>();
  let waiting: (() => void)[] = [];
  let count = 0;
  server.on('connection', (socket) => {
    count += 1;
    sockets.add(socket);
    // Some tests reset it.
    socket.on('error', () => {});
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size > 0) return;
      for (const wake of waiting) wake();
      waiting = [];
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `${scheme}://127.0.0.1:${port}`,
    connections: () => count,
    quiet: () =>
      sockets.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Answers with everything that the request contained. */
export const echo: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { method, url, headers } = request;
    const body = Buffer.concat(chunks).toString();
    response.end(JSON.stringify({ method, url, headers, body }));
  });
};

export interface Echo {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type GuardedFetch = ReturnType<typeof createGuardedFetch>;

export function guard(
  home: string,
  { clock = realClock, ...options }: FetchOptions & { readonly clock?: Clock } = {},
): GuardedFetch {
  return createGuardedFetch(new URL(home), clock, options);
}

/** Served until the test ends. */
export async function peer(...args: Parameters<typeof serve>): Promise<Peer> {
  return untilTestEnds(await serve(...args));
}

/** Open until the test ends, and closed before any server that was started earlier. */
export function guarded(...args: Parameters<typeof guard>): GuardedFetch {
  return untilTestEnds(guard(...args));
}

export function untilTestEnds<Closed extends { close(): unknown }>(one: Closed): Closed {
  onTestFinished(async () => {
    await one.close();
  });
  return one;
}

/** A resolver that knows the given names only. */
export function resolverOf(names: Readonly<Record<string, readonly string[]>>): ResolveAll {
  return (host, _options, callback) => {
    const addresses = names[host];
    if (addresses === undefined) {
      const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), {
        code: 'ENOTFOUND',
      });
      callback(error, []);
      return;
    }
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
}

/** What a promise rejects with. */
export async function errorOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error('It did not fail.');
}
