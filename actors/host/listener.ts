/**
 * Creates all listening sockets. Each has a limit for strangers, time limits for the headers and bodies of
 * requests, survives a failed accept, and leaves no connection behind when it closes. A lint rule refuses
 * Node's own `createServer` elsewhere.
 */

import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import {
  type AddressInfo,
  createServer as createSocketServer,
  type ListenOptions,
  type Server,
  type Socket,
} from 'node:net';
import type { ConnectionLimits } from './connection-limits.ts';

// Real clients send a request at once; these limits end connections that send it byte by byte.
export const requestTimeouts = {
  /** Time limit for receiving the headers. */
  headersMs: 10_000,
  /** Time limit for receiving the whole request. */
  requestMs: 30_000,
  /** How often connections are checked against these limits. */
  checkEveryMs: 1_000,
};

export type RequestTimeouts = Readonly<typeof requestTimeouts>;

// The system sends a short answer at once; only a peer that stopped reading takes longer.
const lastAnswerMs = 1_000;

/** Time limits of requests, and other options of Node's HTTP server. */
type HttpListenerOptions = Pick<
  ServerOptions,
  'maxHeaderSize' | 'keepAlive' | 'keepAliveInitialDelay' | 'keepAliveTimeout'
> & { readonly timeouts?: RequestTimeouts };

/** A server socket of type `Kind`, and its connections. */
export class Listener<Kind extends Server = Server> {
  readonly server: Kind;
  readonly #sockets = new Set<Socket>();
  readonly #answering = new WeakSet<Socket>();

  constructor(server: Kind, connections: ConnectionLimits) {
    this.server = server;
    // A failed accept (too many open files) must not end the process; the next one may succeed.
    server.on('error', () => undefined);
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      connections.add(socket);
    });
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#answering.add(socket);
      response.once('close', () => this.#answering.delete(socket));
    });
  }

  /** The TCP port; 0 for a socket in the file system. */
  get port(): number {
    return (this.server.address() as Partial<AddressInfo> | null)?.port ?? 0;
  }

  /** Resolves once the server is listening; rejects with the error that `explain` returns. */
  async listen(
    where: ListenOptions,
    explain: (error: NodeJS.ErrnoException) => Error = (error) => error,
  ): Promise<this> {
    const { server } = this;
    await new Promise<void>((resolve, reject) => {
      const fail = (error: Error): void => reject(explain(error));
      server.once('error', fail);
      server.listen(where, () => {
        server.off('error', fail);
        resolve();
      });
    });
    return this;
  }

  /** Accepts no more connections; those that exist continue. */
  stopAccepting(): void {
    this.server.close();
  }

  /** Ends all connections now, also those within a request. */
  close(): void {
    this.stopAccepting();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** As {@link close}, but requests that were received get their answers, within a second. */
  closeAfterAnswers(): void {
    this.stopAccepting();
    for (const socket of this.#sockets) {
      if (this.#answering.has(socket)) socket.setTimeout(lastAnswerMs, () => socket.destroy());
      else socket.destroy();
    }
  }
}

/** An HTTP server that bounds its connections, and the size and duration of requests. */
export function httpListener(
  connections: ConnectionLimits,
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
  { timeouts = requestTimeouts, ...options }: HttpListenerOptions = {},
): Listener<HttpServer> {
  const bounds = {
    maxHeaderSize: 16_384,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: timeouts.checkEveryMs,
  };
  return new Listener(createHttpServer({ ...bounds, ...options }, onRequest), connections);
}

/**
 * A server for any other protocol, over TCP or a socket in the file system. A client that has sent all it
 * has to send may still read: `onConnection` ends the connection.
 */
export function socketListener(
  connections: ConnectionLimits,
  onConnection: (socket: Socket) => void,
): Listener {
  const listener = new Listener(createSocketServer({ allowHalfOpen: true }), connections);
  listener.server.on('connection', onConnection);
  return listener;
}
