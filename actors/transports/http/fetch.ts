/**
 * The fetch of an HTTP session. It connects only to addresses that the session may reach, limits
 * what it reads, and remembers the last refusal.
 *
 * - Scheme: http and https, never with a user name in the address.
 * - Address: the server itself may be on this machine or in a private network, because its
 *   address comes from the settings. Other origins must be public, or in the same range as
 *   the server's first address. Metadata services, which hand out credentials, are always refused.
 * - Redirects: followed within the origin, with the method kept, at most five times; returned
 *   if the caller asks for that.
 * - Connections are kept for the session and closed with it; see `sockets.ts`. They may lead through
 *   a proxy, which then looks up the names; see `proxy-and-tls.ts`.
 */

import { setMaxListeners } from 'node:events';
import { type IncomingMessage, validateHeaderName, validateHeaderValue } from 'node:http';

import type { Authenticator } from '../../../src/domain/authorization.ts';
import type { Clock } from '../../../src/domain/clock.ts';
import { version } from '../../../src/domain/version.ts';
import { ProtocolFault } from '../../../src/protocol/errors.ts';
import type { Abortable } from '../../host/abort.ts';
import { SharedTimer } from '../../host/shared-timer.ts';
import { maxMessageBytes } from '../connection/connection.ts';
import { addressOf, ProxyError, RequestFailedError } from '../connection/failure.ts';
import { Repetitions, readRefusal } from '../connection/refusal.ts';
import { type AddressRange, BlockedError } from './addresses.ts';
import type { ResolveAll } from './agents.ts';
import { acceptedCodings, isEventStream, isJson, openBody, tooLong } from './body.ts';
import { exchange, type Order } from './exchange.ts';
import type { Reach } from './proxy-and-tls.ts';
import { createSockets, type Sockets } from './sockets.ts';

// Bounds on `Retry-After`: neither hammer a server nor forget it.
const shortestRetryMs = 1_000;
const longestRetryMs = 300_000;

/** A response whose headers have arrived; its body may be read once or cancelled. */
export type Answer = ReturnType<typeof answerOf>;

// As many as the SDK follows.
const maxRedirects = 5;

export interface FetchOptions {
  /** Looks up names. Default: the system's resolver. */
  readonly resolve?: ResolveAll | undefined;
  /** How servers are reached. Default: directly, with Node's certificates. */
  readonly reach?: Reach | undefined;
  /** Authorizes requests to the server itself. Default: none is authorized. */
  readonly authenticator?: Authenticator | undefined;
}

/** Creates the fetch for a session with the server at `home`, its address in the settings. */
export function createGuardedFetch(home: URL, clock: Clock, options: FetchOptions = {}) {
  const timer = new SharedTimer(clock);
  const origins = createOrigins(home, timer, options);
  const authorized = createAuthorized(home, options.authenticator);
  let refusal: { readonly status: number; readonly retryAfterMs?: number } | undefined;
  const ask = async <Read>(
    order: Order,
    read: (message: IncomingMessage, explain: Explain) => Read | Promise<Read>,
  ): Promise<Read> => {
    let wasConnected = false;
    const onConnected = (): void => {
      wasConnected = true;
    };
    const explain: Explain = (error) =>
      error instanceof ProtocolFault || order.signal?.aborted === true
        ? error
        : new RequestFailedError(order.url, error, wasConnected && !(error instanceof ProxyError));
    try {
      const message = await exchange(order, origins.socketsFor(order.url), timer, onConnected);
      return await read(message, explain);
    } catch (error) {
      throw explain(error);
    }
  };
  const noted = <Read extends string | Answer>(answer: Read): Read => {
    if (typeof answer !== 'string' && !answer.ok) {
      const retryAfterMs = retryAfterOf(answer.headers['retry-after'], clock);
      refusal = { status: answer.status, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    }
    return answer;
  };
  return {
    /**
     * Returns how long the server asked to wait when it last refused a request, if it did so with
     * this status.
     */
    context(status: number | undefined): { readonly retryAfterMs?: number } {
      const waitMs = refusal?.status === status ? refusal?.retryAfterMs : undefined;
      return waitMs === undefined ? {} : { retryAfterMs: waitMs };
    },
    /** Closes every connection; later requests are refused. */
    close(): void {
      origins.close();
      timer.stop();
    },
    /**
     * Throws a {@link BlockedError} for a URL to which no connection is allowed. Checking
     * the server's own URL also decides the range of other origins, before any connection to it.
     */
    check: (url: URL): Promise<void> => origins.socketsFor(url).check(url),
    /**
     * Posts to the server. Resolves with the text of a short JSON response, unless the whole
     * response is wanted. A redirect that may not be followed is returned as a response.
     */
    async post(
      headers: Readonly<Record<string, string>>,
      body: string,
      signal: Abortable,
      isWhole: boolean,
    ): Promise<string | Answer> {
      signal.throwIfAborted();
      const order: Order = { url: home, method: 'POST', headers, body, signal };
      return noted(
        await followed(order, true, (each) =>
          authorized(each, (ready) =>
            ask<string | Answer>(ready, (message, explain) => {
              const text = isWhole ? undefined : shortJson(message);
              return text ?? answerOf(message, explain);
            }),
          ),
        ),
      );
    },
    /**
     * Sends a GET by default. Follows redirects within the origin; rejects on any other redirect.
     */
    fetch: async (
      url: string | URL,
      { method = 'GET', headers = {}, body, signal }: Partial<Omit<Order, 'url'>> = {},
    ): Promise<Answer> => {
      signal?.throwIfAborted();
      // Many requests may share a signal, and Node warns of a leak at eleven listeners.
      if (signal instanceof AbortSignal) setMaxListeners(0, signal);
      const sent = sentHeaders(headers);
      const target = typeof url === 'string' ? new URL(url) : url;
      const order: Order = { url: target, method, headers: sent, body, signal };
      const send = (ready: Order): Promise<Answer> => ask(ready, answerOf);
      return noted(await followed(order, false, (each) => authorized(each, send)));
    },
  };
}

type Explain = (error: unknown) => unknown;

/**
 * Returns a function that adds a token to requests to the server itself. A request that the server
 * refused for want of a token did not run, so it is sent once more if there is another token.
 */
function createAuthorized(home: URL, authenticator: Authenticator | undefined) {
  return async function authorized<Read extends string | Answer>(
    order: Order,
    send: (order: Order) => Promise<Read>,
  ): Promise<Read> {
    if (authenticator === undefined || order.url.origin !== home.origin) return send(order);
    let repetitions: Repetitions | undefined;
    for (;;) {
      const sentWith = await authenticator.headers(order.method, order.url);
      order.signal?.throwIfAborted();
      const answer = await send(withHeaders(order, sentWith));
      if (typeof answer === 'string' || !refusals.has(answer.status)) return answer;
      const refusal = readRefusal(answer.status, answer.headers);
      repetitions ??= new Repetitions();
      if (!repetitions.take(refusal)) return answer;
      let mayRepeat = true;
      try {
        mayRepeat = await authenticator.refused({ ...refusal, sentWith });
      } finally {
        if (mayRepeat) answer.cancel();
      }
      if (!mayRepeat) return answer;
      order.signal?.throwIfAborted();
    }
  };
}

const refusals: ReadonlySet<number> = new Set([401, 403]);

/** Most servers require no login, so nothing is copied for them. */
function withHeaders(order: Order, added: Order['headers']): Order {
  for (const _ in added) return { ...order, headers: { ...order.headers, ...added } };
  return order;
}

function createOrigins(home: URL, clock: Clock, { resolve, reach }: FetchOptions) {
  let homeRange: AddressRange | undefined;
  const isAllowedAtHome = (range: AddressRange): boolean => {
    if (range === 'forbidden') return false;
    homeRange ??= range;
    return true;
  };
  const isAllowedElsewhere = (range: AddressRange): boolean =>
    range === 'public' || (range !== 'forbidden' && range === homeRange);
  const own = createSockets(clock, isAllowedAtHome, { resolve, reach });
  let others: Sockets | undefined;
  let isClosed = false;
  // Few servers name another origin.
  const createOthers = (): Sockets => {
    const created = createSockets(clock, isAllowedElsewhere, {
      resolve,
      // The client certificate is for the server alone.
      reach: reach?.withoutCertificate,
    });
    if (isClosed) created.close();
    return created;
  };
  return {
    /** Throws if a connection to this address is not allowed. */
    socketsFor(url: URL): Sockets {
      if (url.protocol !== 'http:' && url.protocol !== 'https:')
        throw new BlockedError(`${url.protocol} is neither http: nor https:`);
      if (url.username !== '' || url.password !== '')
        throw new BlockedError('its address holds a user name or password');
      if (url.origin === home.origin) return own;
      return (others ??= createOthers());
    },
    close(): void {
      isClosed = true;
      own.close();
      others?.close();
    },
  };
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Returns where a redirect points, without the parts that may be secret; undefined for any other
 * response.
 */
export function redirectOf(answer: Answer, from: URL): string | undefined {
  const location = locationIn(answer);
  if (location === undefined) return undefined;
  return URL.canParse(location, from.href) ? addressOf(new URL(location, from)) : location;
}

function locationIn(answer: string | Answer): string | undefined {
  if (typeof answer === 'string' || !redirects.has(answer.status)) return undefined;
  return answer.headers.location;
}

async function followed<Read extends string | Answer>(
  first: Order,
  handsBack: boolean,
  ask: (order: Order) => Promise<Read>,
): Promise<Read> {
  let order = first;
  for (let count = 0; ; count += 1) {
    const answer = await ask(order);
    const location = locationIn(answer);
    if (typeof answer === 'string' || location === undefined) return answer;
    const obstacle = obstacleTo(order, answer.status, location, count);
    if (obstacle !== undefined && handsBack) return answer;
    answer.cancel();
    if (obstacle !== undefined)
      throw new RequestFailedError(order.url, new BlockedError(obstacle, 'redirect'), true);
    order = { ...order, url: new URL(location, order.url) };
  }
}

/** Returns why a redirect may not be followed; undefined if it may. */
function obstacleTo(
  { url, method }: Order,
  status: number,
  location: string,
  count: number,
): string | undefined {
  if (!URL.canParse(location, url.href)) return 'it redirects to no address';
  const target = new URL(location, url);
  const where = addressOf(target);
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

/**
 * Returns the headers to send: the given ones in lower case, with defaults and without those that
 * we set ourselves.
 */
export function sentHeaders(given: Readonly<Record<string, string>>): Record<string, string> {
  const headers: Record<string, string> = { ...defaultHeaders };
  const seen = new Set<string>();
  // Without the global `Headers`, which loads all of Node's fetch.
  for (const [anyCase, untrimmed] of Object.entries(given)) {
    const name = anyCase.toLowerCase();
    if (ownHeaders.has(name)) continue;
    const value = untrimmed.replace(outerSpace, '');
    validateHeaderName(name);
    validateHeaderValue(name, value);
    headers[name] = seen.has(name) ? `${headers[name]}, ${value}` : value;
    seen.add(name);
  }
  return headers;
}

const outerSpace = /^[\t\n\r ]+|[\t\n\r ]+$/gu;

/** Reads a response that is JSON of a known length; returns undefined for any other. */
function shortJson(message: IncomingMessage): Promise<string> | undefined {
  const { statusCode, headers } = message;
  const isPlain = statusCode === 200 && headers['content-encoding'] === undefined;
  // Node reads no more than the announced length.
  const length = Number(headers['content-length'] ?? Number.POSITIVE_INFINITY);
  return isPlain && isJson(message) && length <= maxMessageBytes ? plainText(message) : undefined;
}

/** Reads a body that is not compressed, without the iterator of a stream, which costs more. */
function plainText(message: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let readBytes = 0;
    message
      .on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        readBytes += chunk.length;
        if (readBytes > maxMessageBytes) message.destroy(tooLong(Buffer.concat(chunks)));
      })
      .on('end', () => {
        const [first] = chunks;
        const whole = chunks.length === 1 ? first : Buffer.concat(chunks);
        resolve(decoder.decode(whole));
      })
      .on('error', reject);
  });
}

const decoder = new TextDecoder();

function answerOf(message: IncomingMessage, explain: Explain) {
  const { statusCode: status = 0, statusMessage: statusText = '', headers } = message;
  if (status < 200 || status > 599) {
    message.destroy();
    throw new Error(`the server answered with status ${status}, which does not exist`);
  }
  const body: AsyncIterable<Uint8Array> = openBody(message, explain);
  return {
    status,
    statusText,
    ok: status < 300,
    headers,
    body,
    async text(): Promise<string> {
      const isPlain = headers['content-encoding'] === undefined && message.errored === null;
      if (isPlain && !isEventStream(message))
        return plainText(message).catch((error: unknown) => {
          throw explain(error);
        });
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      return decoder.decode(Buffer.concat(chunks));
    },
    /** Ends the connection, unless the body was read to its end. */
    cancel: () => void message.destroy(),
  };
}

/** Parses a Retry-After header, in seconds or as a date, into milliseconds from now. */
export function retryAfterOf(
  value: string | undefined,
  clock: Pick<Clock, 'wallNow'>,
): number | undefined {
  if (value === undefined) return undefined;
  const waitMs = /^\s*\d+\s*$/u.test(value)
    ? Number(value) * 1_000
    : Date.parse(value) - clock.wallNow();
  if (Number.isNaN(waitMs)) return undefined;
  return Math.min(longestRetryMs, Math.max(shortestRetryMs, waitMs));
}
