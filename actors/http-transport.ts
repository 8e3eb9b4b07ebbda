/**
 * Carries a session over Streamable HTTP. HTTP never says that it closed, so a
 * cut stream or a refused request is a hint, on which the server is asked once
 * whether it lives. A request whose response stream ends without an answer is
 * failed at once instead of waiting for its timeout. A request that was given
 * up is broken off: the SDK only says so to servers of the legacy era, and
 * would leave its connection open.
 */

import {
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';

import type { SessionEvidence } from '../src/domain/session.ts';
import { startDeadline } from './http-deadline.ts';
import { createGuardedFetch } from './http-fetch.ts';
import { NewsStream } from './http-news.ts';
import { createReopening, type Reopening } from './http-reopening.ts';
import {
  type Connection,
  type ConnectionSetup,
  NotSentError,
  type Seen,
  UnwritableError,
} from './session-connection.ts';
import { describeError } from './session-failure.ts';
import { ownErrorFor, readMessages, streamLost, withinDepth } from './session-messages.ts';
import type { HttpEndpoint } from './session-target.ts';

// Some servers keep nothing and put a signed token there, but nobody needs more than this.
const sessionIdCharacters = 1_024;
// A courtesy: the server would otherwise keep the session until it forgets it.
const terminateMs = 1_000;
// As long as a call that has to be sent again waits for the next session.
const drainMs = 1_000;

/** Something suggests that the server may have gone; nothing is certain. */
export type Hint = () => void;

export class HttpTransport implements Transport, Connection {
  readonly kind = 'http';
  readonly pid = undefined;
  readonly hasPerRequestStream = true;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];

  readonly #inner: StreamableHTTPClientTransport;
  // The same object: its class and the interface differ in `undefined` only.
  readonly #wire: Transport;
  readonly #setup: ConnectionSetup;
  readonly #guarded;
  readonly #hint: Hint;
  readonly #reopening: Reopening;
  readonly #news: NewsStream;
  #newsHeaders: Headers | undefined;
  readonly #unanswered = new Map<string | number, AbortController>();
  #isOver = false;
  #stopDrain: (() => void) | undefined;
  #closed: Promise<void> | undefined;
  #remarks = 0;

  constructor(endpoint: HttpEndpoint, setup: ConnectionSetup, hint: Hint) {
    this.#setup = setup;
    this.#hint = hint;
    this.#guarded = createGuardedFetch({ home: endpoint.url, clock: setup.clock });
    this.#reopening = createReopening(setup.clock, () => this.#suspect());
    this.#inner = new StreamableHTTPClientTransport(endpoint.url, {
      requestInit: { headers: { ...endpoint.headers } },
      fetch: (url, init) => this.#fetch(url, init),
      reconnectionScheduler: this.#reopening.schedule,
    });
    this.#news = new NewsStream({
      clock: setup.clock,
      ask: (lastEventId, signal) => this.#askForNews(endpoint.url, lastEventId, signal),
      askedWaitMs: () => this.#guarded.lastRefusal()?.retryAfterMs,
      onMessage: (text) => {
        for (const message of readMessages(text)) this.#receive(message);
      },
      onDoubt: () => this.#suspect(),
    });
    this.#wire = this.#inner as Transport;
    this.#inner.onmessage = (message) => this.#receive(message);
    this.#inner.onerror = (error) => this.#onError(error);
  }

  // The SDK looks at it through the transport, before connecting and for its own bookkeeping.
  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  get transport(): Transport {
    return this as Transport;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    // Also while nothing is sent any more.
    this.#breakOff(cancelledBy(message));
    if (this.#isOver || this.#stopDrain !== undefined) throw new NotSentError('Not connected');
    if ('method' in message) this.#setup.events.sending(message.method);
    if (!('method' in message) || !('id' in message)) return this.#wire.send(message, options);
    const { id } = message;
    const request = new AbortController();
    const requestSignal = options?.requestSignal ?? request.signal;
    requestSignal.addEventListener('abort', () => this.#settled(id), { once: true });
    this.#unanswered.set(id, request);
    try {
      await this.#wire.send(message, {
        ...options,
        requestSignal,
        onRequestStreamEnd: () => {
          options?.onRequestStreamEnd?.();
          this.#failUnanswered(id);
        },
      });
    } catch (error) {
      this.#settled(id);
      throw isFromWriting(error, message) ? new UnwritableError(error) : error;
    }
  }

  context(status?: number): Partial<Seen> {
    // The errors of the SDK leave the headers out, so the last refusal is remembered.
    const refusal = this.#guarded.lastRefusal();
    const waitMs = refusal?.status === status ? refusal?.retryAfterMs : undefined;
    return {
      ...(this.sessionId !== undefined && { hasSessionId: true }),
      ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    };
  }

  evidence(): SessionEvidence {
    return {};
  }

  close(isLost = false): Promise<void> {
    this.#closed ??= this.#end(isLost);
    return this.#closed;
  }

  drain(): void {
    if (this.#isOver || this.#stopDrain !== undefined) return;
    this.#news.stop();
    this.#stopDrain = startDeadline(this.#setup.clock, drainMs, () => void this.close(true));
    if (this.#unanswered.size === 0) void this.close(true);
  }

  dispose(): void {
    this.#over();
    void this.#inner.close().catch(() => {});
    this.#guarded.close();
  }

  async #end(isLost: boolean): Promise<void> {
    this.#over();
    if (!isLost) await this.#terminate();
    await this.#inner.close().catch(() => {});
    this.#guarded.close();
  }

  async #terminate(): Promise<void> {
    const { clock } = this.#setup;
    const terminated = this.#inner.terminateSession().catch(() => {});
    await new Promise<void>((resolve) => {
      const timer = clock.setTimeout(resolve, terminateMs);
      void terminated.then(() => {
        clock.clearTimeout(timer);
        resolve();
      });
    });
  }

  /** The SDK fails all that is in flight; what arrives later is dropped. */
  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopDrain?.();
    this.#news.stop();
    this.#reopening.stop();
    this.onclose?.();
  }

  /** The SDK gives its stream of news up when it fails twice, so that one is ours. */
  async #fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    if (isForNews(init)) {
      this.#newsHeaders = new Headers(init.headers);
      this.#news.start();
      return new Response(null, { status: 405 });
    }
    const response = await this.#guarded.fetch(url, init);
    if (this.sessionId === undefined) await assertSessionId(response);
    return response;
  }

  #askForNews(url: URL, lastEventId: string | undefined, signal: AbortSignal): Promise<Response> {
    const headers = new Headers(this.#newsHeaders);
    if (lastEventId !== undefined && lastEventId !== '') headers.set('last-event-id', lastEventId);
    return this.#guarded.fetch(url, { headers, signal });
  }

  #receive(received: JSONRPCMessage): void {
    const message = withinDepth(received);
    if (this.#isOver || message === undefined) return;
    if (isAnswer(message) && message.id !== undefined) this.#settled(message.id);
    this.onmessage?.(message);
  }

  /** Says whether the request had still been waited for. */
  #settled(id: string | number): boolean {
    const wasWaitedFor = this.#unanswered.delete(id);
    // Not before whoever waits for it was told.
    if (this.#stopDrain !== undefined && this.#unanswered.size === 0)
      startDeadline(this.#setup.clock, 0, () => void this.close(true));
    return wasWaitedFor;
  }

  #breakOff(id: unknown): void {
    if (typeof id === 'string' || typeof id === 'number') this.#unanswered.get(id)?.abort();
  }

  #failUnanswered(id: string | number): void {
    if (this.#isOver || !this.#settled(id)) return;
    this.onmessage?.(ownErrorFor(id, streamLost, 'The response stream ended before the answer.'));
  }

  #onError(error: Error): void {
    if (this.#isOver) return;
    const seen = describeError(error, this.#setup.secrets);
    // With a status it is the answer to a request, and whoever asked is told.
    if (seen.status === undefined) {
      if (isAboutTheWire(seen)) this.#suspect();
      else this.#remark(seen.message);
    }
    this.onerror?.(error);
  }

  #suspect(): void {
    if (!this.#isOver) this.#hint();
  }

  #remark(message: string): void {
    this.#remarks += 1;
    if (this.#remarks === 1) this.#setup.events.remark(message);
  }
}

function isForNews({ method, headers }: RequestInit): boolean {
  return method === 'GET' && !new Headers(headers).has('last-event-id');
}

/** It goes back in a header of every request. */
async function assertSessionId(response: Response): Promise<void> {
  const id = response.headers.get('mcp-session-id');
  if (id === null || (id.length <= sessionIdCharacters && /^[!-~]+$/u.test(id))) return;
  await response.body?.cancel();
  throw new SdkError(
    SdkErrorCode.ClientHttpUnexpectedContent,
    `The server gave the session an id that is not 1 to ${sessionIdCharacters} visible ASCII characters.`,
  );
}

/**
 * The SDK writes the message itself, so a failed one is written once more, to
 * see whether that is what failed. To write each beforehand would double the work.
 */
function isFromWriting(error: unknown, message: JSONRPCMessage): boolean {
  try {
    JSON.stringify(message);
    return false;
  } catch (again) {
    // Another message is that of another failure: then the request may have left.
    return String(again) === String(error);
  }
}

function cancelledBy(message: JSONRPCMessage): unknown {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined;
  return message.params?.['requestId'];
}

function isAnswer(message: JSONRPCMessage): message is JSONRPCMessage & { id?: string | number } {
  return isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
}

function isAboutTheWire({ message, code, causes = [] }: Seen): boolean {
  if (/SSE stream|reconnect/iu.test(message)) return true;
  return [code, ...causes.map((cause) => cause.code)].some(
    (it) => it !== undefined && /^(E[A-Z]|UND_ERR)/u.test(it),
  );
}
