/**
 * One request and the beginning of its answer, over `node:http`.
 *
 * A request that was sent on a kept connection may meet the server's closing of
 * it: then it fails before a byte of an answer. Node does not tell how much of
 * the request the server had taken, so only a request that may run twice by the
 * rules of HTTP is sent again, once and on a new connection. A POST never is: it
 * carries a tool call, and whoever made the call decides with what is known.
 */

import { setMaxListeners } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import type { Socket } from 'node:net';

import type { Clock } from '../../../src/domain/clock.ts';
import { isEventStream } from './body.ts';
import { startDeadline } from './deadline.ts';
import { endIdle, type Sockets } from './sockets.ts';

// Name, TCP and TLS together; a server farther away than this answers no call in time either.
const connectMs = 10_000;
// Calls have deadlines of their own, far below it. It ends what nobody ends: an answer to a
// notification, a message of a transport that cannot tell which request was given up.
const exchangeMs = 3_600_000;

/** A request as it goes out. */
export interface Order {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
}

/** No connection was made in time. No byte was sent. */
class ConnectTimeoutError extends Error {
  override readonly name = 'ConnectTimeoutError';
  readonly code = 'ERR_CONNECT_TIMEOUT';

  constructor() {
    super(`no connection within ${connectMs} ms`);
  }
}

class ExchangeTimeoutError extends Error {
  override readonly name = 'ExchangeTimeoutError';
  readonly code = 'ETIMEDOUT';

  constructor() {
    super(`no whole answer within ${exchangeMs} ms`);
  }
}

const mayRunTwice: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE']);
const closedMeanwhile: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE']);

/**
 * Resolves with the answer when its headers are here. An abort rejects with the
 * reason of the signal, and afterwards breaks the body off with it. `onConnected`
 * is called before any byte of the request can leave.
 */
export async function exchange(
  order: Order,
  sockets: Sockets,
  clock: Clock,
  onConnected: () => void = () => {},
): Promise<IncomingMessage> {
  const first = new Exchange(order, sockets, clock, onConnected);
  try {
    return await first.answer;
  } catch (error) {
    if (!first.metClosing(error) || !mayRunTwice.has(order.method)) throw error;
  }
  // The other kept connections are as old.
  sockets.dropIdle();
  return new Exchange(order, sockets, clock, onConnected).answer;
}

class Exchange {
  readonly answer: Promise<IncomingMessage>;

  readonly #order: Order;
  readonly #sockets: Sockets;
  readonly #clock: Clock;
  readonly #onConnected: () => void;
  readonly #request: ClientRequest;
  #resolve: (message: IncomingMessage) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #message: IncomingMessage | undefined;
  #readBytesBefore = 0;
  #stopConnect: (() => void) | undefined;
  #stopExchange: (() => void) | undefined;

  constructor(order: Order, sockets: Sockets, clock: Clock, onConnected: () => void) {
    this.#order = order;
    this.#sockets = sockets;
    this.#clock = clock;
    this.#onConnected = onConnected;
    const { url, method, headers, body, signal } = order;
    const send = url.protocol === 'https:' ? requestSecure : requestPlain;
    this.#request = send(url, { method, headers, agent: sockets.agentFor(url) });
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#request
      .once('socket', (socket) => this.#connecting(socket))
      .once('response', (message) => this.#answered(message))
      .on('error', (error) => this.#fail(error));
    if (signal !== undefined) {
      // The SDK uses one signal for all requests of a session, and Node takes eleven for a leak.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', this.#abort);
    }
    // An event stream may begin with its first event, whenever that is.
    if (method !== 'GET')
      this.#stopExchange = startDeadline(clock, exchangeMs, () =>
        this.#fail(new ExchangeTimeoutError()),
      );
    this.#request.end(body);
  }

  /** The connection was an old one and ended before a byte of an answer. */
  metClosing(error: unknown): boolean {
    const { reusedSocket, socket } = this.#request;
    if (!reusedSocket || this.#order.signal?.aborted === true) return false;
    const hasAnswer = this.#message !== undefined || socket?.bytesRead !== this.#readBytesBefore;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return !hasAnswer && closedMeanwhile.has(code);
  }

  #connecting(socket: Socket): void {
    this.#readBytesBefore = socket.bytesRead;
    if (this.#request.reusedSocket) {
      this.#onConnected();
      endIdle(socket);
      return;
    }
    if (this.#request.destroyed) return;
    const stop = startDeadline(this.#clock, connectMs, () => this.#fail(new ConnectTimeoutError()));
    this.#stopConnect = stop;
    socket.once(this.#order.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      stop();
      this.#onConnected();
    });
  }

  #answered(message: IncomingMessage): void {
    this.#message = message;
    // What breaks it off before its reader listens would be forgotten.
    message.on('error', () => {});
    this.#sockets.answered(message);
    if (isEventStream(message)) this.#stopExchange?.();
    message.once('close', () => this.#end());
    this.#resolve(message);
  }

  readonly #abort = (): void => {
    this.#fail(this.#order.signal?.reason);
  };

  #fail(error: unknown): void {
    this.#end();
    this.#reject(error);
    // Whoever reads the body is told why it ends.
    this.#message?.destroy(error as Error);
    this.#request.destroy();
  }

  #end(): void {
    this.#stopConnect?.();
    this.#stopExchange?.();
    this.#order.signal?.removeEventListener('abort', this.#abort);
  }
}
