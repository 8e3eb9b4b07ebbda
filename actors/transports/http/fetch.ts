/**
 * The fetch of an HTTP session. It connects only to addresses that the session may reach, limits
 * what it reads, and remembers the last refusal.
 *
 * - Scheme: http and https, never with a user name in the address.
 * - Address: the server itself may be on this machine or in a private network, because its
 *   address comes from the settings. Other origins must be public, or as near as the server
 *   itself was at first. Metadata services, which give out credentials, are always refused.
 * - Redirects: followed within the origin, with the method kept, at most five times; returned
 *   if the caller asks for that.
 * - Connections are kept for the session and closed with it; see `sockets.ts`. Proxies named in
 *   the environment are not used, as in Node's own fetch.
 */

import type { IncomingMessage } from 'node:http';

import { type FetchLike, SdkError } from '@modelcontextprotocol/client';

import type { Clock } from '../../../src/domain/clock.ts';
import { version } from '../../../src/domain/version.ts';
import { maxMessageBytes } from '../connection/connection.ts';
import { addressOf, RequestFailedError } from '../connection/request-failed.ts';
import type { AddressRange } from './addresses.ts';
import { acceptedCodings, openBody } from './body.ts';
import { exchange, type Order } from './exchange.ts';
import { AddressBlockedError, createSockets, type ResolveAll, type Sockets } from './sockets.ts';

// Bounds on `Retry-After`: neither hammer a server nor forget it.
const shortestRetryMs = 1_000;
const longestRetryMs = 300_000;

export interface Refusal {
  readonly status: number;
  readonly retryAfterMs?: number;
}

export interface GuardedFetch {
  readonly fetch: FetchLike;
  /**
   * Posts to the server, faster than `fetch`: resolves with the text of a short JSON answer, unless
   * the whole response is wanted. Redirects that may not be followed are returned.
   */
  readonly post: (
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
    isWhole: boolean,
  ) => Promise<string | Response>;
  /** The last response that was not a success. */
  readonly lastRefusal: () => Refusal | undefined;
  /** Closes every connection; later requests are refused. */
  readonly close: () => void;
}

export interface GuardedFetchSetup {
  /** The server's address in the settings. */
  readonly home: URL;
  readonly clock: Clock;
  /** Default: the resolver of the system. */
  readonly resolve?: ResolveAll;
}

// As many as the SDK follows.
const maxRedirects = 5;

/** A redirect that is not followed. */
class RedirectBlockedError extends Error {
  override readonly name = 'RedirectBlockedError';
  readonly code = 'ERR_REDIRECT_BLOCKED';
}

class ClosedError extends Error {
  override readonly name = 'ClosedError';
  readonly code = 'CONNECTION_CLOSED';
}

export function createGuardedFetch({ home, clock, resolve }: GuardedFetchSetup): GuardedFetch {
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
  const noted = <Answer extends string | Response>(answer: Answer): Answer => {
    if (typeof answer !== 'string' && !answer.ok) refusal = refusalOf(answer, clock);
    return answer;
  };
  return {
    lastRefusal: () => refusal,
    close: () => reach.close(),
    async post(headers, body, signal, isWhole) {
      signal.throwIfAborted();
      const order: Order = { url: home, method: 'POST', headers, body, signal };
      return noted(
        await followed(order, 'post', (each) =>
          ask<string | Response>(each, (message, explain) => {
            const text = isWhole ? undefined : shortJson(message);
            return text ?? responseOf(each, message, explain);
          }),
        ),
      );
    },
    async fetch(url, init = {}) {
      const order = await orderOf(url, init);
      return noted(
        await followed(order, init.redirect ?? 'follow', (each) =>
          ask(each, (message, explain) => responseOf(each, message, explain)),
        ),
      );
    },
  };
}

type Explain = (error: unknown) => unknown;

interface Reach {
  /** Throws if a connection there is not allowed. */
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

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Where a redirect points, without what may be secret; undefined for any other response. */
export function redirectOf({ status, headers }: Response, from: URL): string | undefined {
  const location = redirects.has(status) ? headers.get('location') : null;
  if (location === null) return undefined;
  return URL.canParse(location, from.href) ? addressOf(new URL(location, from)) : location;
}

async function followed<Answer extends string | Response>(
  first: Order,
  mode: NonNullable<RequestInit['redirect']> | 'post',
  ask: (order: Order) => Promise<Answer>,
): Promise<Answer> {
  let order = first;
  for (let count = 0; ; count += 1) {
    const response = await ask(order);
    if (typeof response === 'string' || mode === 'manual') return response;
    const location = redirects.has(response.status) ? response.headers.get('location') : null;
    if (location === null) return response;
    const obstacle = obstacleTo(order, response.status, location, mode, count);
    if (obstacle !== undefined && mode === 'post') return response;
    await response.body?.cancel();
    if (obstacle !== undefined)
      throw new RequestFailedError(order.url, new RedirectBlockedError(obstacle), true);
    order = { ...order, url: new URL(location, order.url) };
  }
}

/** Why a redirect may not be followed; undefined if it may be. */
function obstacleTo(
  { url, method }: Order,
  status: number,
  location: string,
  mode: string,
  count: number,
): string | undefined {
  if (!URL.canParse(location, url.href)) return 'it redirects to no address';
  const target = new URL(location, url);
  const where = addressOf(target);
  if (mode === 'error') return `it redirects to ${where}, which was not wanted`;
  if (count === maxRedirects) return `it redirects more than ${maxRedirects} times`;
  if (target.origin !== url.origin || target.username !== '' || target.password !== '')
    return `it redirects to ${where}, which is another origin`;
  const keepsMethod = method === 'GET' || method === 'HEAD' || status > 303;
  return keepsMethod ? undefined : `it redirects ${method} to another method`;
}

// Callers decide neither how a message is framed nor whether its connection is kept.
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

/** The headers to send: the given ones with defaults, without those that are ours. */
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
  /** Its type, unless a header says otherwise. */
  readonly type?: string;
}

async function bodyOf(given: RequestInit['body']): Promise<OrderBody> {
  if (given === undefined || given === null) return {};
  if (typeof given === 'string') return { body: given, type: 'text/plain;charset=UTF-8' };
  if (given instanceof Uint8Array) return { body: given };
  // Forms and such, read once so that a redirect can be followed.
  const whole = new Response(given);
  const type = whole.headers.get('content-type');
  const body = new Uint8Array(await whole.arrayBuffer());
  return { body, ...(type !== null && { type }) };
}

/** Reads an answer that is JSON of a known length; undefined for any other. */
function shortJson(message: IncomingMessage): Promise<string> | undefined {
  const { statusCode, headers } = message;
  const isPlain = statusCode === 200 && headers['content-encoding'] === undefined;
  const isJson = headers['content-type']?.toLowerCase().startsWith('application/json') === true;
  // Node reads no more than the announced length.
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
  return { status, ...(retryAfterMs !== undefined && { retryAfterMs }) };
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
