/**
 * Carries a session over Streamable HTTP. HTTP never says that it closed, so a
 * cut stream or a refused request is a hint, on which the server is asked once
 * whether it lives. A request whose response stream ends without an answer is
 * failed at once instead of waiting for its timeout. A request that was given
 * up is broken off: the SDK only says so to servers of the legacy era, and
 * would leave its connection open.
 */

import {
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';

import type { SessionEvidence } from '../../../src/domain/session.ts';
import type { HttpEndpoint } from '../../values/target.ts';
import {
  type Connection,
  type ConnectionSetup,
  NotSentError,
  type Seen,
  UnwritableError,
} from '../connection/connection.ts';
import { describeError } from '../connection/failure.ts';
import { ownErrorFor, streamLost } from '../connection/messages.ts';
import { MessageStages } from '../connection/stages.ts';
import { readAnswer } from './answer.ts';
import { startDeadline } from './deadline.ts';
import { isEventStream } from './events.ts';
import { createGuardedFetch, sentHeaders } from './fetch.ts';
import type { Liveness } from './liveness.ts';
import { NewsStream } from './news.ts';
import { answeredBy, BrokenOffError, cancelledBy, type Post, Posts } from './posts.ts';
import { tooLongAnswer } from './too-long.ts';

// Some servers keep nothing and put a signed token there, but nobody needs more than this.
const sessionIdCharacters = 1_024;
// A courtesy: the server would otherwise keep the session until it forgets it.
const terminateMs = 1_000;
// As long as a call that has to be sent again waits for the next session.
const drainMs = 1_000;

// Tells our own fetch which message the SDK hands it.
const postHeader = 'mcp-troupe-post';

interface HandedOver {
  readonly post: Post;
  /** What the server answered already. */
  answer?: Response | undefined;
  /** The request was serialized and given to the connection, so it may have reached the server. */
  hasLeft: boolean;
  /** Called when the stream of the answer is over, and not because it was given up. */
  readonly onStreamEnd: (() => void) | undefined;
}

export class HttpTransport implements Transport, Connection {
  readonly kind = 'http';
  readonly pid = undefined;
  readonly hasPerRequestStream = true;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];

  readonly stages: MessageStages;
  readonly #inner: StreamableHTTPClientTransport;
  // The same object: its class and the interface differ in `undefined` only.
  readonly #wire: Transport;
  readonly #setup: ConnectionSetup;
  readonly #url: URL;
  readonly #guarded;
  readonly #liveness: Pick<Liveness, 'suspect' | 'heard'>;
  readonly #news: NewsStream;
  #newsHeaders: Headers | undefined;
  /** The headers of the last POST of the SDK, for those that it does not make. */
  #postHeaders: Readonly<Record<string, string>> = {};
  #protocolVersion: string | undefined;
  readonly #posts: Posts;
  /** Which POST the SDK is about to make, by the number in a header that stays here. */
  readonly #handedOver = new Map<string, HandedOver>();
  #handedOverCount = 0;
  /** On the response stream of which request a message came. */
  readonly #origins = new WeakMap<JSONRPCMessage, string | number>();
  #isOver = false;
  #stopDrain: (() => void) | undefined;
  #closed: Promise<void> | undefined;
  #remarks = 0;

  constructor(
    endpoint: HttpEndpoint,
    setup: ConnectionSetup,
    liveness: Pick<Liveness, 'suspect' | 'heard'>,
  ) {
    this.#setup = setup;
    this.#url = endpoint.url;
    this.#liveness = liveness;
    this.#posts = new Posts(setup.clock);
    this.stages = new MessageStages({
      clock: setup.clock,
      events: setup.events,
      send: (message) => this.send(message),
      lose: (seen) => {
        if (this.#isOver) return;
        setup.events.ended(seen);
        this.#over();
      },
    });
    this.#guarded = createGuardedFetch({ home: endpoint.url, clock: setup.clock });
    this.#inner = new StreamableHTTPClientTransport(endpoint.url, {
      requestInit: { headers: { ...endpoint.headers } },
      fetch: (url, init) => this.#fetch(url, init),
    });
    this.#news = new NewsStream({
      clock: setup.clock,
      budget: this.stages.budget,
      ask: (lastEventId, signal) => this.#askForEvents(this.#newsHeaders, lastEventId, signal),
      onMessage: (text) => this.#read(text),
      onDoubt: () => this.#suspect(),
      onGap: () => setup.events.missed(),
    });
    this.#wire = this.#inner as Transport;
    // Of an error that came with status 400.
    this.#inner.onmessage = (message) => this.#read(JSON.stringify(message));
    this.#inner.onerror = (error) => this.#onError(error);
  }

  /** The server owes an answer that may take its time. */
  get isBusy(): boolean {
    return this.#posts.isWorking;
  }

  // The SDK looks at it through the transport, before connecting and for its own bookkeeping.
  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  get transport(): Transport {
    return this as Transport;
  }

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
    this.#inner.setProtocolVersion(version);
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    // Also while nothing is sent any more.
    this.#giveUp(cancelledBy(message));
    if (this.#isOver || this.#stopDrain !== undefined) throw new NotSentError('Not connected');
    const post = this.#posts.begin(message);
    const { id } = post;
    this.stages.sent(message);
    if ('method' in message) this.#setup.events.sending(message.method);
    options?.requestSignal?.addEventListener('abort', () => this.#giveUp(id), { once: true });
    this.#handedOverCount += 1;
    const number = String(this.#handedOverCount);
    const handedOver: HandedOver = {
      post,
      hasLeft: false,
      onStreamEnd: options?.onRequestStreamEnd,
    };
    this.#handedOver.set(number, handedOver);
    try {
      if (
        options === undefined &&
        this.#knowsHeaders() &&
        (await this.#sendLightly(message, handedOver))
      )
        return;
      await this.#wire.send(message, { headers: { ...options?.headers, [postHeader]: number } });
    } catch (error) {
      if (id !== undefined) this.#settled(id);
      throw handedOver.hasLeft ? error : unsent(error, message);
    } finally {
      this.#handedOver.delete(number);
      if (!post.isStreaming) this.#posts.end(post);
    }
  }

  /** Whether the last POST of the SDK was one of this session as it is now. */
  #knowsHeaders(): boolean {
    const headers = this.#postHeaders;
    return (
      this.#protocolVersion !== undefined &&
      headers['mcp-protocol-version'] === this.#protocolVersion &&
      headers['mcp-session-id'] === this.sessionId
    );
  }

  /**
   * Posts a message of ours, which needs nothing of the SDK. False: it was answered in a way that the
   * SDK is to see, as if it had asked.
   */
  async #sendLightly(message: JSONRPCMessage, handedOver: HandedOver): Promise<boolean> {
    const { post } = handedOver;
    try {
      const body = JSON.stringify(message);
      handedOver.hasLeft = true;
      const answer = await this.#guarded.post(this.#postHeaders, body, post.signal);
      if (typeof answer === 'string') this.#takeAnswer(answer, post);
      else handedOver.answer = answer;
      return typeof answer === 'string';
    } catch (error) {
      this.#onError(error as Error);
      throw error;
    }
  }

  #takeAnswer(text: string, post: Post): void {
    this.#read(text);
    if (this.#posts.isWaitedFor(post)) throw noAnswer();
  }

  requestOf(message: JSONRPCMessage): string | number | undefined {
    return this.#origins.get(message);
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
    if (this.#posts.unansweredCount === 0) void this.close(true);
  }

  dispose(): void {
    this.#over();
    this.#posts.breakOffAll();
    void this.#inner.close().catch(() => {});
    this.#guarded.close();
  }

  async #end(isLost: boolean): Promise<void> {
    this.#over();
    this.#posts.breakOffAll();
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
    this.stages.stop();
    this.onclose?.();
  }

  /** The SDK gives its stream of news up when it fails twice, so that one is ours. */
  async #fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    if (isForNews(init)) {
      this.#newsHeaders = new Headers(init.headers);
      this.#news.start();
      return new Response(null, { status: 405 });
    }
    const headers = new Headers(init.headers);
    const handedOver = this.#handedOver.get(headers.get(postHeader) ?? '');
    if (handedOver === undefined) return this.#guarded.fetch(url, init);
    headers.delete(postHeader);
    handedOver.hasLeft = true;
    const { post, answer } = handedOver;
    handedOver.answer = undefined;
    this.#postHeaders = sentHeaders(headers);
    const response =
      answer ?? (await this.#guarded.fetch(url, { ...init, headers, signal: post.signal }));
    if (this.sessionId === undefined) await assertSessionId(response);
    return response.ok ? this.#readAnswer(response, headers, handedOver) : response;
  }

  /**
   * Answers are read here: the SDK would drop a bad one and let its request wait. It gets
   * to see what refuses a message, and what can be no answer.
   */
  async #readAnswer(
    response: Response,
    headers: Headers,
    { post, onStreamEnd }: HandedOver,
  ): Promise<Response> {
    const { body } = response;
    const isStream = isEventStream(response) && body !== null;
    if (post.id === undefined) {
      // There is nothing to say about a notification.
      if (isStream) await body.cancel();
      return isStream ? accepted(response) : response;
    }
    if (isStream) {
      post.isStreaming = true;
      void this.#followAnswer(body, headers, { post, onStreamEnd });
      return accepted(response);
    }
    if (!isJson(response)) return response;
    try {
      this.#takeAnswer(await response.text(), post);
    } catch (error) {
      if (!this.#failTooLong(error, post.id)) throw error;
    }
    return accepted(response);
  }

  async #followAnswer(
    body: ReadableStream<Uint8Array>,
    headers: Headers,
    { post, onStreamEnd }: Pick<HandedOver, 'post' | 'onStreamEnd'>,
  ): Promise<void> {
    const { signal } = post;
    await readAnswer(body, {
      clock: this.#setup.clock,
      budget: this.stages.budget,
      signal,
      isWaitedFor: () => this.#posts.isWaitedFor(post),
      onMessage: (text) => this.#read(text, post.id),
      onTooLong: (error) => this.#failTooLong(error, post.id),
      resume: (lastEventId) => this.#askForEvents(headers, lastEventId, signal),
      onDoubt: () => this.#suspect(),
    });
    this.#posts.end(post);
    if (signal.aborted) return;
    onStreamEnd?.();
    if (post.id !== undefined) this.#failUnanswered(post.id);
  }

  /** Asks for a stream of news, or for the rest of an answer that was cut after this event. */
  #askForEvents(
    headersOf: Headers | undefined,
    lastEventId: string | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    const headers = new Headers(headersOf);
    headers.delete('content-type');
    headers.set('accept', 'text/event-stream');
    if (this.sessionId !== undefined) headers.set('mcp-session-id', this.sessionId);
    if (lastEventId !== undefined) headers.set('last-event-id', lastEventId);
    return this.#guarded.fetch(this.#url, { headers, signal });
  }

  #read(text: string, origin?: string | number): void {
    this.stages.fence(() => {
      for (const message of this.stages.read(text)) {
        // Answers say themselves what they are about.
        if (origin !== undefined && 'method' in message) this.#origins.set(message, origin);
        this.#receive(message);
      }
    });
  }

  #receive(message: JSONRPCMessage): void {
    if (this.#isOver) return;
    this.#liveness.heard();
    const id = answeredBy(message);
    if (id !== undefined) this.#settled(id);
    this.stages.deliver(message, this.onmessage);
  }

  /** Says whether the request had still been waited for. */
  #settled(id: string | number): boolean {
    const wasWaitedFor = this.#posts.settle(id);
    this.#lookForEnd();
    return wasWaitedFor;
  }

  #giveUp(id: unknown): void {
    this.#posts.breakOff(id);
    this.#lookForEnd();
  }

  #lookForEnd(): void {
    // Not before whoever waits for it was told.
    if (this.#stopDrain !== undefined && this.#posts.unansweredCount === 0)
      startDeadline(this.#setup.clock, 0, () => void this.close(true));
  }

  #failUnanswered(id: string | number): void {
    if (this.#isOver || !this.#settled(id)) return;
    const lost = ownErrorFor(id, streamLost, 'The response stream ended before the answer.');
    this.stages.deliver(lost, this.onmessage);
  }

  /** The request alone is told; says whether it was its answer. */
  #failTooLong(error: unknown, id: string | number | undefined): boolean {
    const answer = tooLongAnswer(error, id);
    if (answer !== undefined) this.#receive(answer);
    return answer !== undefined;
  }

  #onError(error: Error): void {
    if (this.#isOver || error instanceof BrokenOffError) return;
    const seen = describeError(error, this.#setup.secrets);
    // With a status it is the answer to a request, and whoever asked is told.
    if (seen.status === undefined) {
      if (isAboutTheWire(seen)) this.#suspect();
      else this.#remark(seen.message);
    }
    this.onerror?.(error);
  }

  #suspect(): void {
    if (!this.#isOver) this.#liveness.suspect();
  }

  #remark(message: string): void {
    this.#remarks += 1;
    if (this.#remarks === 1) this.#setup.events.remark(message);
  }
}

function isForNews({ method, headers }: RequestInit): boolean {
  return method === 'GET' && !new Headers(headers).has('last-event-id');
}

function isJson({ headers }: Response): boolean {
  return headers.get('content-type')?.toLowerCase().startsWith('application/json') === true;
}

/** What the SDK gets to see of a message that is taken care of. */
function accepted({ headers }: Response): Response {
  return new Response(null, { status: 202, headers });
}

function noAnswer(): SdkError {
  return new SdkError(
    SdkErrorCode.ClientHttpUnexpectedContent,
    'The server answered a request with something that is no answer to it.',
  );
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

/** Explains why a message has not left: the SDK serializes it and does not say whether that failed. */
function unsent(error: unknown, message: JSONRPCMessage): unknown {
  try {
    JSON.stringify(message);
    return error;
  } catch {
    return new UnwritableError(error);
  }
}

function isAboutTheWire({ message, code, causes = [] }: Seen): boolean {
  if (/SSE stream|reconnect/iu.test(message)) return true;
  return [code, ...causes.map((cause) => cause.code)].some(
    (it) => it !== undefined && /^(E[A-Z]|UND_ERR)/u.test(it),
  );
}
