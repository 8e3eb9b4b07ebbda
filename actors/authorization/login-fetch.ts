/**
 * What a login sends to servers and issuers. Everything passes the guarded fetch of the HTTP
 * transport: an origin other than the server's must be public, or in the same range as the server.
 *
 * A URL must be https, or http on this machine; the server's own origin, which the settings name,
 * may be any http. Requests carry no MCP headers, for which load balancers refuse requests to
 * well-known places. Responses are limited in size and time.
 */

import type { FetchLike } from '@modelcontextprotocol/client';

import { type Clock, startDeadline } from '../../src/domain/clock.ts';
import { isLoopback } from '../../src/policies/secure-url.ts';
import { addressOf, RequestFailedError } from '../transports/connection/failure.ts';
import { BlockedError } from '../transports/http/addresses.ts';
import {
  type Answer,
  createGuardedFetch,
  type FetchOptions,
  retryAfterOf,
} from '../transports/http/fetch.ts';
import { SettingError } from '../values/setting-error.ts';
import { quoted, refused, StepError, sentence } from './outcome.ts';

// Metadata and token responses have some kilobytes.
const maxBodyBytes = 1_000_000;
// An issuer that is slower than this is down for a user who waits.
const requestMs = 10_000;

/** What each step of a login is given. */
export interface IssuerAccess {
  /** Rejects with a {@link StepError} or {@link RequestFailedError}. Never follows to another origin. */
  readonly fetch: FetchLike;
  /** Rejects if this URL, named by a server or an issuer, may be neither requested nor opened. */
  check(url: string, what: string): Promise<URL>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface IssuerConnection {
  /** Access that ends with this signal. */
  access(signal: AbortSignal): IssuerAccess;
  close(): void;
}

/**
 * Creates the connections for logins to the server at `home`. Issuers are reached as the server is,
 * through the same proxy and with the same authorities; its client certificate is for its origin only.
 */
export function createIssuerConnection(
  home: URL,
  clock: Clock,
  options: Omit<FetchOptions, 'authenticator'> = {},
): IssuerConnection {
  const guarded = createGuardedFetch(home, clock, options);
  const checkAddress = async (url: URL): Promise<void> => {
    try {
      // The server's own address decides which others are allowed. It may have failed to resolve before.
      await guarded.check(home);
      await guarded.check(url);
    } catch (error) {
      if (error instanceof BlockedError)
        throw refused('discovery', `${quoted(url.href)} is refused: ${error.message}`);
      // The environment's proxy for this address.
      if (error instanceof SettingError) throw refused('discovery', sentence(error.message));
      throw error;
    }
  };
  const send = async (url: URL, init: RequestInit, signal: AbortSignal): Promise<Response> => {
    const body = bodyOf(init);
    const { method = 'GET' } = init;
    const headers = headersOf(init);
    const order = { method, headers, ...(body !== undefined && { body }) };
    const limited = withDeadline(signal, clock);
    try {
      const answer = await guarded.fetch(url, { ...order, signal: limited.signal });
      return await wholeResponse(answer, url);
    } catch (error) {
      throw limited.isOver() ? tooSlow(url) : error;
    } finally {
      limited.end();
    }
  };
  return {
    access: (signal) => ({
      clock,
      signal,
      async check(text, what) {
        const url = permittedUrl(text, what);
        await checkAddress(url);
        return url;
      },
      async fetch(input, init = {}) {
        const url = new URL(input);
        if (url.origin !== home.origin) permittedUrl(url.href, 'the URL');
        await checkAddress(url);
        try {
          return await send(url, init, signal);
        } catch (error) {
          if (signal.aborted || !mayRunAgain(error, init.method)) throw error;
          return send(url, init, signal);
        }
      },
    }),
    close: () => guarded.close(),
  };
}

/** Returns the URL if it is https, or http on this machine. */
export function permittedUrl(text: string, what: string): URL {
  if (!URL.canParse(text)) throw refused('discovery', `${what} ${quoted(text)} is not a URL`);
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw refused('discovery', `${what} ${addressOf(url)} holds a user name or password`);
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))) return url;
  throw refused('discovery', `${what} ${quoted(text)} is neither https nor http on this machine`);
}

/** A request without a connection was never sent; a GET may run twice. */
function mayRunAgain(error: unknown, method = 'GET'): boolean {
  if (!(error instanceof RequestFailedError)) return false;
  if (error.cause instanceof BlockedError) return false;
  return method === 'GET' || !error.wasConnected;
}

function headersOf(init: RequestInit): Record<string, string> {
  const headers = new Headers(init.headers);
  for (const name of [...headers.keys()]) if (name.startsWith('mcp-')) headers.delete(name);
  if (!headers.has('accept')) headers.set('accept', 'application/json');
  if (init.body instanceof URLSearchParams)
    headers.set('content-type', 'application/x-www-form-urlencoded');
  return Object.fromEntries(headers);
}

function bodyOf({ body }: RequestInit): string | undefined {
  if (typeof body === 'string') return body;
  return body instanceof URLSearchParams ? body.toString() : undefined;
}

function withDeadline(outer: AbortSignal, clock: Clock) {
  const controller = new AbortController();
  let isOver = false;
  const stop = startDeadline(clock, requestMs, () => {
    isOver = true;
    controller.abort();
  });
  const abort = (): void => controller.abort(outer.reason);
  outer.addEventListener('abort', abort);
  if (outer.aborted) abort();
  return {
    signal: controller.signal,
    isOver: () => isOver,
    end(): void {
      stop();
      outer.removeEventListener('abort', abort);
    },
  };
}

function tooSlow(url: URL): StepError {
  return refused('unavailable', `${addressOf(url)} did not answer within ${requestMs} ms`);
}

const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);
// The body is decoded and whole.
const framing: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-length',
  'transfer-encoding',
]);

async function wholeResponse(answer: Answer, url: URL): Promise<Response> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) {
      answer.cancel();
      throw refused('discovery', `${addressOf(url)} answered with more than ${maxBodyBytes} bytes`);
    }
    chunks.push(chunk);
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers))
    if (!framing.has(name)) for (const each of [value ?? []].flat()) headers.append(name, each);
  const { status, statusText } = answer;
  const body = bodiless.has(status) ? null : Buffer.concat(chunks);
  return new Response(body, { status, statusText, headers });
}

/** Throws if the issuer failed, or asked to wait, so that a later attempt may succeed. */
export function assertAvailable({ status, headers }: Response, url: URL, clock: Clock): void {
  if (status < 500 && status !== 429 && status !== 408) return;
  const retryAfterMs = retryAfterOf(headers.get('retry-after') ?? undefined, clock);
  throw new StepError({
    kind: 'unavailable',
    message: `${addressOf(url)} answered with status ${status}`,
    isFinal: false,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}
