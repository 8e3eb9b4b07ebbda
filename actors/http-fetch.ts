/**
 * The fetch of an HTTP session: counts what it reads, fails what can never be
 * answered, and remembers what the SDK's errors leave out of a refusal.
 */

import { type FetchLike, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';

import type { Clock } from '../src/domain/clock.ts';
import { RequestFailedError } from './http-request-failed.ts';

const maxBodyBytes = 16 * 1024 * 1024;
// Servers that ask for less would be hammered, those that ask for more forgotten.
const shortestRetryMs = 1_000;
const longestRetryMs = 300_000;

export interface Refusal {
  readonly status: number;
  readonly retryAfterMs?: number;
}

export interface GuardedFetch {
  readonly fetch: FetchLike;
  /** The last answer that was not a success. */
  lastRefusal(): Refusal | undefined;
}

export function createGuardedFetch(clock: Pick<Clock, 'wallNow'>): GuardedFetch {
  let refusal: Refusal | undefined;
  return {
    lastRefusal: () => refusal,
    // The SDK asks for redirects by hand and follows those within the origin only.
    async fetch(url, init) {
      const response = await fetch(url, init).catch((error: unknown) => {
        throw init?.signal?.aborted === true ? error : new RequestFailedError(url, error);
      });
      if (!response.ok) {
        const retryAfterMs = retryAfterOf(response.headers.get('retry-after'), clock);
        refusal = { status: response.status, ...(retryAfterMs !== undefined && { retryAfterMs }) };
      }
      if (isAcceptedOnly(response) && isRequest(init?.body)) {
        await response.body?.cancel();
        throw new SdkError(
          SdkErrorCode.ClientHttpUnexpectedContent,
          `The server answered a request with status ${response.status} and no result.`,
        );
      }
      return bounded(response);
    },
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

/** Caps a body after decompression; in an event stream the cap is for one event. */
function bounded(response: Response): Response {
  const { body, headers } = response;
  if (body === null) return response;
  const length = Number(headers.get('content-length') ?? Number.NaN);
  if (length <= maxBodyBytes && headers.get('content-encoding') === null) return response;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  let readBytes = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const eventEnd = isStream ? lastEventEnd(chunk) : -1;
      readBytes = eventEnd === -1 ? readBytes + chunk.length : chunk.length - eventEnd;
      if (readBytes <= maxBodyBytes) controller.enqueue(chunk);
      else
        controller.error(
          new SdkError(
            SdkErrorCode.ClientHttpUnexpectedContent,
            'The server sent more than 16 MB.',
          ),
        );
    },
  });
  const { status, statusText } = response;
  return new Response(body.pipeThrough(counter), { status, statusText, headers });
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Where the last event of a chunk ends, so far as one chunk can tell; -1 when none does. */
function lastEventEnd(chunk: Uint8Array): number {
  let at = chunk.lastIndexOf(lineFeed);
  while (at > 0) {
    const before = chunk[at - 1] === carriageReturn ? at - 2 : at - 1;
    if (before >= 0 && chunk[before] === lineFeed) return at + 1;
    at = chunk.lastIndexOf(lineFeed, at - 1);
  }
  return -1;
}
