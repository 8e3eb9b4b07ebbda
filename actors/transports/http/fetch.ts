/**
 * The fetch of an HTTP session. It reaches only what the session may reach,
 * counts what it reads, fails what can never be answered, and remembers what the
 * SDK's errors leave out of a refusal.
 *
 * - Scheme: http and https, never with a user name in the address.
 * - Address: the server's own may be in this machine or a private network, since
 *   a person wrote it. Any other origin was named by somebody else and may be
 *   public, or as near as the server itself turned out to be at first. Addresses
 *   where machines get their credentials are never connected to.
 * - Redirects: handed back when the caller asks for that, as the SDK does, which
 *   then asks here again for each hop; else followed within the origin, with the
 *   method kept, five times at most.
 * - Connections are kept for the session and closed with it; see `http-sockets`.
 *   Proxies named in the environment are not used, as Node's own fetch does not.
 */

import type { IncomingMessage } from 'node:http';

import { type FetchLike, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';

import type { Clock } from '../../../src/domain/clock.ts';
import { version } from '../../../src/domain/version.ts';
import { maxMessageBytes } from '../connection/connection.ts';
import { addressOf, RequestFailedError } from '../connection/request-failed.ts';
import type { AddressRange } from './addresses.ts';
import { acceptedCodings, openBody } from './body.ts';
import { type Challenge, challengesOf } from './challenge.ts';
import { exchange, type Order } from './exchange.ts';
import { AddressBlockedError, createSockets, type ResolveAll, type Sockets } from './sockets.ts';

// Servers that ask for less would be hammered, those that ask for more forgotten.
const shortestRetryMs = 1_000;
const longestRetryMs = 300_000;

export interface Refusal {
  readonly status: number;
  readonly retryAfterMs?: number;
  /** How the server wants to be signed in to. */
  readonly challenges?: readonly Challenge[];
}

export interface GuardedFetch {
  readonly fetch: FetchLike;
  /** Posts to the server, without all that `fetch` is; a short answer of JSON is read at once. */
  readonly post: (
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ) => Promise<string | Response>;
  /** The last answer that was not a success. */
  readonly lastRefusal: () => Refusal | undefined;
  /** Closes every connection; what is asked for afterwards is refused. */
  readonly close: () => void;
}

export interface GuardedFetchSetup {
  /** The address that a person chose. */
  readonly home: URL;
  readonly clock: Clock;
  /** Default: the resolver of the system. */
  readonly resolve?: ResolveAll;
  /** Answers come on another stream, so "accepted" is all that a request is told. */
  readonly answersElsewhere?: boolean;
}

// As many as the SDK follows.
const maxRedirects = 5;

/** An answer that points to where this fetch does not go. */
class RedirectBlockedError extends Error {
  override readonly name = 'RedirectBlockedError';
  readonly code = 'ERR_REDIRECT_BLOCKED';
}

class ClosedError extends Error {
  override readonly name = 'ClosedError';
  readonly code = 'CONNECTION_CLOSED';
}

export function createGuardedFetch({
  home,
  clock,
  resolve,
  answersElsewhere = false,
}: GuardedFetchSetup): GuardedFetch {
  const reach = createReach(home, clock, resolve);
  let refusal: Refusal | undefined;
  const ask = async <Answer>(
    order: Order,
    read: (message: IncomingMessage, explain: Explain) => Answer | Promise<Answer>,
  ): Promise<Answer> => {
    let wasConnected = false;
    const onConnected = (): void => {
      wasConnected = true;
    };
    const explain: Explain = (error) =>
      error instanceof SdkError || order.signal?.aborted === true
        ? error
        : new RequestFailedError(order.url, error, wasConnected);
    try {
      const message = await exchange(order, reach.socketsFor(order.url), clock, onConnected);
      return await read(message, explain);
    } catch (error) {
      throw explain(error);
    }
  };
  const looked = async (response: Response, body: unknown): Promise<Response> => {
    if (!response.ok) refusal = refusalOf(response, clock);
    if (answersElsewhere || !isAcceptedOnly(response) || !isRequest(body)) return response;
    await response.body?.cancel();
    throw new SdkError(
      SdkErrorCode.ClientHttpUnexpectedContent,
      `The server answered a request with status ${response.status} and no result.`,
    );
  };
  return {
    lastRefusal: () => refusal,
    close: () => reach.close(),
    async post(headers, body, signal) {
      signal.throwIfAborted();
      const order: Order = { url: home, method: 'POST', headers, body, signal };
      const answer = await ask<string | Response>(
        order,
        (message, explain) => shortJson(message) ?? responseOf(order, message, explain),
      );
      return typeof answer === 'string' ? answer : looked(answer, body);
    },
    async fetch(url, init = {}) {
      const order = await orderOf(url, init);
      const response = await followed(order, init.redirect ?? 'follow', (each) =>
        ask(each, (message, explain) => responseOf(each, message, explain)),
      );
      return looked(response, init.body);
    },
  };
}

type Explain = (error: unknown) => unknown;

interface Reach {
  /** Throws what is in the way of a connection there. */
  socketsFor(url: URL): Sockets;
  close(): void;
}

function createReach(home: URL, clock: Clock, resolve?: ResolveAll): Reach {
  let homeRange: AddressRange | undefined;
  let isClosed = false;
  const own = createSockets(
    clock,
    (range) => {
      if (range === 'forbidden') return false;
      homeRange ??= range;
      return true;
    },
    resolve,
  );
  let others: Sockets | undefined;
  const isAllowedElsewhere = (range: AddressRange): boolean =>
    range === 'public' || (range !== 'forbidden' && range === homeRange);
  return {
    socketsFor(url) {
      if (isClosed) throw new ClosedError('the session is closed');
      if (url.protocol !== 'http:' && url.protocol !== 'https:')
        throw new AddressBlockedError(`${url.protocol} is neither http: nor https:`);
      if (url.username !== '' || url.password !== '')
        throw new AddressBlockedError('its address holds a user name or password');
      if (url.origin === home.origin) return own;
      others ??= createSockets(clock, isAllowedElsewhere, resolve);
      return others;
    },
    close() {
      isClosed = true;
      own.close();
      others?.close();
    },
  };
}

type Ask = (order: Order) => Promise<Response>;

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

async function followed(
  first: Order,
  mode: NonNullable<RequestInit['redirect']>,
  ask: Ask,
): Promise<Response> {
  let order = first;
  for (let count = 0; ; count += 1) {
    const response = await ask(order);
    const location = redirects.has(response.status) ? response.headers.get('location') : null;
    if (mode === 'manual' || location === null) return response;
    await response.body?.cancel();
    const blocked = (why: string): Error =>
      new RequestFailedError(order.url, new RedirectBlockedError(why), true);
    if (!URL.canParse(location, order.url.href)) throw blocked('it redirects to no address');
    const target = new URL(location, order.url);
    const where = addressOf(target);
    if (mode === 'error') throw blocked(`it redirects to ${where}, which was not wanted`);
    if (count === maxRedirects) throw blocked(`it redirects more than ${maxRedirects} times`);
    if (target.origin !== order.url.origin || target.username !== '' || target.password !== '')
      throw blocked(`it redirects to ${where}, which is another origin`);
    const keepsMethod = order.method === 'GET' || order.method === 'HEAD' || response.status > 303;
    if (!keepsMethod) throw blocked(`it redirects ${order.method} to another method`);
    order = { ...order, url: target };
  }
}

// How a message is framed and what becomes of its connection is not for callers to say.
const ownHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const defaultHeaders = {
  accept: '*/*',
  'accept-encoding': acceptedCodings,
  'user-agent': `mcp-troupe/${version}`,
};

/** What is sent where these headers are given. */
export function sentHeaders(given: Headers): Record<string, string> {
  const headers: Record<string, string> = { ...defaultHeaders };
  for (const [name, value] of given) if (!ownHeaders.has(name)) headers[name] = value;
  return headers;
}

async function orderOf(url: string | URL, init: RequestInit): Promise<Order> {
  const { signal } = init;
  signal?.throwIfAborted();
  const { body, type } = await bodyOf(init.body);
  signal?.throwIfAborted();
  const given = init.headers instanceof Headers ? init.headers : new Headers(init.headers);
  const headers = sentHeaders(given);
  if (type !== undefined) headers['content-type'] ??= type;
  const method = init.method?.toUpperCase() ?? 'GET';
  return { url: new URL(url), method, headers, body, signal: signal ?? undefined };
}

interface OrderBody {
  readonly body?: string | Uint8Array;
  /** What it is, unless a header says otherwise. */
  readonly type?: string;
}

async function bodyOf(given: RequestInit['body']): Promise<OrderBody> {
  if (given === undefined || given === null) return {};
  if (typeof given === 'string') return { body: given, type: 'text/plain;charset=UTF-8' };
  if (given instanceof Uint8Array) return { body: given };
  // Forms and the like, read once so that a redirect can be followed.
  const whole = new Response(given);
  const type = whole.headers.get('content-type');
  const body = new Uint8Array(await whole.arrayBuffer());
  return { body, ...(type !== null && { type }) };
}

/** Reads an answer that is JSON of a known length; leaves any other alone. */
function shortJson(message: IncomingMessage): Promise<string> | undefined {
  const { statusCode, headers } = message;
  const isPlain = statusCode === 200 && headers['content-encoding'] === undefined;
  const isJson = headers['content-type']?.toLowerCase().startsWith('application/json') === true;
  // Node reads no more than was announced.
  const length = Number(headers['content-length'] ?? Number.POSITIVE_INFINITY);
  if (!isPlain || !isJson || length > maxMessageBytes) return undefined;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    message
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .once('end', () => resolve(decoder.decode(Buffer.concat(chunks))))
      .once('error', reject);
  });
}

const decoder = new TextDecoder();
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

function responseOf({ url, method }: Order, message: IncomingMessage, explain: Explain): Response {
  const { statusCode: status = 0, statusMessage: statusText = '', rawHeaders } = message;
  if (status < 200 || status > 599) {
    message.destroy();
    throw new Error(`the server answered with status ${status}, which does not exist`);
  }
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  let body: ReadableStream<Uint8Array> | null = null;
  if (method === 'HEAD' || bodiless.has(status)) message.on('error', () => {}).resume();
  else body = openBody(message, explain);
  const response = new Response(body, { status, statusText, headers });
  const { href, hash } = url;
  return Object.defineProperty(response, 'url', {
    value: hash === '' ? href : href.slice(0, -hash.length),
  });
}

function refusalOf({ status, headers }: Response, clock: Clock): Refusal {
  const retryAfterMs = retryAfterOf(headers.get('retry-after'), clock);
  const challenges = challengesOf(headers.get('www-authenticate'));
  return {
    status,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(challenges.length > 0 && { challenges }),
  };
}

function isAcceptedOnly({ status }: Response): boolean {
  return status === 202 || status === 204;
}

function isRequest(body: unknown): boolean {
  if (typeof body !== 'string') return false;
  const message = JSON.parse(body) as Record<string, unknown>;
  return 'id' in message && 'method' in message;
}

/** The seconds or the date of a Retry-After header, in milliseconds from now. */
export function retryAfterOf(
  value: string | null,
  clock: Pick<Clock, 'wallNow'>,
): number | undefined {
  if (value === null) return undefined;
  const waitMs = /^\s*\d+\s*$/u.test(value)
    ? Number(value) * 1_000
    : Date.parse(value) - clock.wallNow();
  if (Number.isNaN(waitMs)) return undefined;
  return Math.min(longestRetryMs, Math.max(shortestRetryMs, waitMs));
}
