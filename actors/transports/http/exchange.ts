/**
 * Sends one request and receives the beginning of its response, over `node:http`.
 *
 * The server may close a kept connection just as a request is sent on it, which then fails without
 * a single byte of a response. Node does not report how much of the request the server read.
 * Therefore only a request that may run twice by the rules of HTTP is resent, once and on a new
 * connection. A POST is never resent: it carries a tool call, and its caller decides.
 */

import { type ClientRequest, type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

import { type Clock, startDeadline } from '../../../src/domain/clock.ts';
import type { Abortable } from '../../host/abort.ts';
import { isEventStream } from './body.ts';
import { refusedBy, unreachable } from './proxy.ts';
import { endIdle, type Route, type Sockets } from './sockets.ts';

// Name lookup, TCP and TLS together; a server farther away than this does not respond to calls in
// time either.
const connectMs = 10_000;
// Calls have much shorter deadlines of their own. This one ends requests that have none, such as
// the response to a notification.
const exchangeMs = 3_600_000;

/** A request to send. */
export interface Order {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: Abortable | undefined;
}

/** No byte was sent when this occurs. */
const noConnection = { name: 'ConnectTimeoutError', code: 'ERR_CONNECT_TIMEOUT' };
const noWholeAnswer = { name: 'ExchangeTimeoutError', code: 'ETIMEDOUT' };

const mayRunTwice: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE']);
const closedMeanwhile: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE']);

/**
 * Resolves with the response once its headers have arrived. An abort rejects with the signal's
 * reason, and later interrupts the body with it. `onConnected` is called before any byte of the
 * request can be sent.
 */
export async function exchange(
  order: Order,
  sockets: Sockets,
  clock: Clock,
  onConnected: () => void,
): Promise<IncomingMessage> {
  const first = start(order, sockets, clock, onConnected);
  try {
    return await first.answer;
  } catch (error) {
    if (!first.metClosing(error) || !mayRunTwice.has(order.method)) throw error;
  }
  // The other kept connections are just as old.
  sockets.dropIdle();
  return start(order, sockets, clock, onConnected).answer;
}

function start(order: Order, sockets: Sockets, clock: Clock, onConnected: () => void) {
  const { method, body, signal } = order;
  const route = sockets.routeTo(order.url);
  const { relay } = route;
  const request = prepare(order, route);
  let isConnected = false;
  const noteConnected = (): void => {
    isConnected = true;
    onConnected();
  };
  let answered: IncomingMessage | undefined;
  let readBytesBefore = 0;
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    let stopConnect: (() => void) | undefined;
    let stopExchange: (() => void) | undefined;
    const end = (): void => {
      stopConnect?.();
      stopExchange?.();
      signal?.removeEventListener('abort', abort);
    };
    const fail = (error: unknown): void => {
      end();
      reject(error as Error);
      // Rejects the reader of the body with the reason.
      answered?.destroy(error as Error);
      request.destroy();
    };
    const abort = (): void => fail(signal?.reason);
    request.on('socket', (socket) => {
      readBytesBefore = socket.bytesRead;
      if (request.reusedSocket) {
        noteConnected();
        endIdle(socket);
      } else if (!request.destroyed) {
        stopConnect = startDeadline(clock, connectMs, () =>
          fail(Object.assign(new Error(`no connection within ${connectMs} ms`), noConnection)),
        );
        whenConnected(socket, () => {
          stopConnect?.();
          noteConnected();
        });
      }
    });
    request.on('response', (message) => {
      // Only a proxy sends this status.
      if (relay !== undefined && message.statusCode === 407) {
        fail(refusedBy(relay, 407));
        return;
      }
      answered = message;
      // Without a listener, Node would throw an error that occurs before the body is read.
      message.on('error', () => {});
      sockets.answered(message);
      if (isEventStream(message)) stopExchange?.();
      message.on('close', end);
      resolve(message);
    });
    request.on('error', (error) =>
      fail(relay === undefined || isConnected ? error : unreachable(relay, error)),
    );
    signal?.addEventListener('abort', abort);
    // The first event of a stream may come at any time.
    if (method !== 'GET')
      stopExchange = startDeadline(clock, exchangeMs, () =>
        fail(Object.assign(new Error(`no whole answer within ${exchangeMs} ms`), noWholeAnswer)),
      );
    request.end(body);
  });
  return {
    answer,
    /** Returns whether a kept connection ended before the first byte of a response. */
    metClosing(error: unknown): boolean {
      const { reusedSocket, socket } = request;
      if (!reusedSocket || signal?.aborted === true) return false;
      const hasAnswer = answered !== undefined || socket?.bytesRead !== readBytesBefore;
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      return !hasAnswer && closedMeanwhile.has(code);
    },
  };
}

/** A proxy that relays a request gets the absolute URL. */
function prepare({ url, method, headers }: Order, route: Route): ClientRequest {
  const { agent, relay, target } = route;
  const to = relay?.url ?? url;
  const send = to.protocol === 'https:' ? requestSecure : requestPlain;
  if (relay === undefined) return send({ ...target, method, headers, agent });
  const path = `${url.origin}${url.pathname}${url.search}`;
  const sent = { ...headers, host: url.host, ...relay.headers };
  return send(to, { method, headers: sent, agent, path });
}

/** A connection through a tunnel to a server without TLS is there from the beginning. */
function whenConnected(socket: Socket, then: () => void): void {
  if (socket instanceof TLSSocket) socket.once('secureConnect', then);
  else if (socket.readyState === 'open') then();
  else socket.once('connect', then);
}
