/**
 * Carries a session over Streamable HTTP: a POST for each message, and a stream for server messages
 * that belong to no request.
 *
 * HTTP does not report that a server is gone. A cut stream or a failed request is only a hint,
 * after which the server is probed once. A request whose response stream ends without a response
 * fails at once instead of running into its timeout. A request that is given up is aborted.
 */

import type { JSONRPCMessage, TransportSendOptions } from '@modelcontextprotocol/client';
import { startDeadline } from '../../../src/domain/clock.ts';
import { redactWords } from '../../../src/policies/text/redact-words.ts';
import { NotSentError, RefusedError, unexpected } from '../../../src/protocol/errors.ts';
import { claimedVersionOf, headerNames, routingHeaders } from '../../../src/protocol/headers.ts';
import { ownErrorFor, serialize, streamLost } from '../../../src/protocol/messages.ts';
import { methods } from '../../../src/protocol/methods.ts';
import type { Abortable } from '../../host/abort.ts';
import { withinTime } from '../../host/time-limit.ts';
import { Connection, type ConnectionSetup, type Seen } from '../connection/connection.ts';
import { addressOf, describeError } from '../connection/failure.ts';
import { isEventStream, isJson, tooLongAnswer } from './body.ts';
import { type Answer, createGuardedFetch, redirectOf, sentHeaders } from './fetch.ts';
import { answeredBy, cancelledBy, type Post, Posts } from './posts.ts';
import type { RemoteEndpoint } from './proxy-and-tls.ts';
import { createNewsStream, readAnswer } from './streams.ts';

// Stateless servers put a signed token here; even those need no more than this.
const sessionIdCharacters = 1_024;
// A courtesy: without it, the server keeps the session until it expires.
const terminateMs = 1_000;
// As long as a call that must be resent waits for the next session.
const drainMs = 1_000;

/** A challenge that a login can answer. */
const loginScheme = /\b(?:bearer|dpop)\b/iu;

export class HttpTransport extends Connection {
  readonly kind = 'http';
  // A modern request is given up by the end of its POST instead of a notification.
  readonly hasPerRequestStream = true;
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #guarded;
  readonly #news;
  readonly #posts: Posts;
  #sessionId: string | undefined;
  #protocolVersion: string | undefined;
  /** The request on whose response stream each message arrived. */
  readonly #origins = new WeakMap<JSONRPCMessage, string | number>();
  #stopDrain: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor({ url, headers, reach }: RemoteEndpoint, setup: ConnectionSetup) {
    super(setup);
    this.#url = url;
    this.#headers = sentHeaders(headers);
    this.#posts = new Posts(setup.clock);
    const { clock, authenticator } = setup;
    this.#guarded = createGuardedFetch(url, clock, { reach, authenticator });
    this.#news = createNewsStream({
      clock: setup.clock,
      budget: this.stages.budget,
      ask: (lastEventId, signal) => this.#askForEvents(lastEventId, signal),
      onMessage: (text) => this.#read(text),
      onDoubt: () => this.#suspect(),
      onGap: () => setup.events.missed(),
    });
  }

  override get workCount(): number {
    return this.#posts.workCount;
  }

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    // A cancelled request is given up even when nothing more can be sent.
    this.#giveUp(cancelledBy(message));
    if (this.isOver || this.#stopDrain !== undefined) throw new NotSentError('Not connected');
    const body = serialize(message);
    const post = this.#posts.begin(message);
    this.noteSent(message);
    options?.requestSignal?.addEventListener('abort', () => this.#giveUp(post.id), { once: true });
    try {
      await this.#post(message, body, post, options);
    } catch (error) {
      if (post.id !== undefined) this.#settled(post.id);
      // Not a failure of the server.
      if (error !== post.signal.reason) this.#onError(error as Error, post.isWork || post.isAnswer);
      throw error;
    } finally {
      if (!post.isStreaming) this.#posts.end(post);
    }
  }

  override abandon(id: string | number): void {
    this.#giveUp(id);
  }

  override requestOf(message: JSONRPCMessage): string | number | undefined {
    return this.#origins.get(message);
  }

  override context(status?: number): Partial<Seen> {
    return {
      address: redactWords(addressOf(this.#url), this.setup.secrets),
      ...(this.#sessionId !== undefined && { hasSessionId: true }),
      ...this.#guarded.context(status),
    };
  }

  close(isLost = false): Promise<void> {
    this.#closed ??= this.#end(isLost);
    return this.#closed;
  }

  override drain(): void {
    if (this.isOver || this.#stopDrain !== undefined) return;
    this.#news.stop();
    this.#stopDrain = startDeadline(this.setup.clock, drainMs, () => void this.close(true));
    if (this.#posts.unansweredCount === 0) void this.close(true);
  }

  dispose(): void {
    this.over();
    this.#posts.breakOffAll();
    this.#guarded.close();
  }

  protected override over(): void {
    this.#stopDrain?.();
    this.#news.stop();
    super.over();
  }

  async #end(isLost: boolean): Promise<void> {
    this.over();
    this.#posts.breakOffAll();
    if (!isLost && this.#sessionId !== undefined) await this.#terminate();
    this.#guarded.close();
  }

  async #terminate(): Promise<void> {
    const init = { method: 'DELETE', headers: this.#sessionHeaders() };
    // If it fails, the server will drop the session by itself. The body ends with the connection.
    const terminated = this.#guarded.fetch(this.#url, init).catch(() => {});
    await withinTime(this.setup.clock, terminateMs, terminated);
  }

  async #post(
    message: JSONRPCMessage,
    body: string,
    post: Post,
    options: TransportSendOptions | undefined,
  ): Promise<void> {
    const method = 'method' in message ? message.method : undefined;
    const isHandshake = method === methods.initialize.name;
    const headers = this.#headersOf(message, options);
    const answer = await this.#guarded.post(headers, body, post.signal, isHandshake);
    if (typeof answer === 'string') return this.#takeAnswer(answer, post);
    if (!answer.ok) return this.#takeRefusal(answer, message, post);
    if (isHandshake) this.#sessionId = sessionIdOf(answer);
    await this.#take(answer, post, options?.onRequestStreamEnd);
    if (method === methods.initialized.name) this.#news.start();
  }

  #sessionHeaders(): Record<string, string> {
    const headers = { ...this.#headers };
    if (this.#sessionId !== undefined) headers[headerNames.session] = this.#sessionId;
    if (this.#protocolVersion !== undefined)
      headers[headerNames.protocolVersion] = this.#protocolVersion;
    return headers;
  }

  #headersOf(message: JSONRPCMessage, options?: TransportSendOptions): Record<string, string> {
    const { accept } = this.#headers;
    const wanted = accept === undefined || accept === '*/*' ? '' : `${accept}, `;
    const headers = { ...options?.headers, ...this.#sessionHeaders() };
    Object.assign(headers, routingHeaders(message));
    headers['accept'] = `${wanted}application/json, text/event-stream`;
    headers['content-type'] = 'application/json';
    return headers;
  }

  #takeAnswer(text: string, post: Post): void {
    // The whole response was read, so nothing is left to wait for.
    this.#posts.end(post);
    this.#read(text);
    if (this.#posts.isWaitedFor(post))
      throw unexpected("The server's reply is not a response to the request.");
  }

  async #take(answer: Answer, post: Post, onStreamEnd?: () => void): Promise<void> {
    const { status, headers } = answer;
    const isStream = isEventStream(answer);
    if (post.id === undefined) {
      // Notifications get no response. A plain body is read, so that the connection can be reused.
      if (isStream) answer.cancel();
      else await answer.text().catch(() => {});
    } else if (isStream) {
      post.isStreaming = true;
      void this.#followAnswer(answer.body, post, onStreamEnd);
    } else if (isJson(answer)) {
      try {
        this.#takeAnswer(await answer.text(), post);
      } catch (error) {
        if (!this.#failTooLong(error, post.id)) throw error;
      }
    } else {
      answer.cancel();
      const type = headers['content-type'] ?? 'none';
      throw status === 202 || status === 204
        ? unexpected(`The server answered a request with status ${status} and no result.`)
        : unexpected(`The server answered a request with the content type ${type}.`);
    }
  }

  async #takeRefusal(answer: Answer, message: JSONRPCMessage, post: Post): Promise<void> {
    const { status, statusText } = answer;
    const text = await answer.text().catch(() => '');
    // Modern servers send some JSON-RPC errors with this status.
    if (status === 400 && post.id !== undefined && claimedVersionOf(message) !== undefined) {
      this.#read(text);
      if (!this.#posts.isWaitedFor(post)) return;
    }
    const target = redirectOf(answer, this.#url);
    const reason =
      target === undefined
        ? text
        : `Redirect to ${target} not followed; use that URL if it is the intended server`;
    throw new RefusedError(`Error POSTing to endpoint: ${reason}`, {
      status,
      statusText,
      text,
      hasChallenge: loginScheme.test(answer.headers['www-authenticate'] ?? ''),
    });
  }

  async #followAnswer(
    body: AsyncIterable<Uint8Array>,
    post: Post,
    onStreamEnd?: () => void,
  ): Promise<void> {
    const { signal } = post;
    await readAnswer(body, {
      clock: this.setup.clock,
      budget: this.stages.budget,
      signal,
      isWaitedFor: () => this.#posts.isWaitedFor(post),
      onMessage: (text) => this.#read(text, post.id),
      onCut: (error) => this.#failTooLong(error, post.id),
      resume: (lastEventId) => this.#askForEvents(lastEventId, signal),
      onDoubt: () => this.#suspect(),
    });
    this.#posts.end(post);
    if (signal.aborted) return;
    onStreamEnd?.();
    if (post.id !== undefined) this.#failUnanswered(post.id);
  }

  /** Requests the notification stream, or the rest of a response that was cut after this event. */
  #askForEvents(lastEventId: string | undefined, signal: Abortable): Promise<Answer> {
    const headers = { ...this.#sessionHeaders(), accept: 'text/event-stream' };
    return this.#guarded.fetch(this.#url, {
      headers: lastEventId === undefined ? headers : { ...headers, 'last-event-id': lastEventId },
      signal,
    });
  }

  #read(text: string, origin?: string | number): void {
    this.stages.fence(() => {
      for (const message of this.stages.read(text)) {
        // A response names its own request.
        if (origin !== undefined && 'method' in message) this.#origins.set(message, origin);
        this.#receive(message);
      }
    });
  }

  #receive(message: JSONRPCMessage): void {
    if (this.isOver) return;
    const id = answeredBy(message);
    if (id !== undefined) this.#settled(id);
    this.stages.deliver(message, this.onmessage);
  }

  /** Returns whether the request was still waiting for its response. */
  #settled(id: string | number): boolean {
    const wasWaitedFor = this.#posts.settle(id);
    this.#endDrain();
    return wasWaitedFor;
  }

  #giveUp(id: unknown): void {
    this.#posts.breakOff(id);
    this.#endDrain();
  }

  #endDrain(): void {
    // In a later turn, so that the last response reaches its caller first.
    if (this.#stopDrain !== undefined && this.#posts.unansweredCount === 0)
      startDeadline(this.setup.clock, 0, () => void this.close(true));
  }

  #failUnanswered(id: string | number): void {
    if (this.isOver || !this.#settled(id)) return;
    const lost = ownErrorFor(id, streamLost, 'The response stream ended before the answer.');
    this.stages.deliver(lost, this.onmessage);
  }

  /** Fails the request whose response is too long; returns whether that was the error. */
  #failTooLong(error: unknown, id: string | number | undefined): boolean {
    const answer = tooLongAnswer(error, id);
    if (answer !== undefined) this.#receive(answer);
    return answer !== undefined;
  }

  #onError(error: Error, isHint: boolean): void {
    if (this.isOver) return;
    const seen = describeError(error, this.setup.secrets);
    // An error with a status is the response to a request, which reports it.
    if (seen.status === undefined) {
      // A failed probe is reported by itself, and what it replaces is cancelled by a notification.
      if (!isOfNetwork(seen)) this.remarkOnce(seen.message);
      else if (isHint) this.#suspect();
    }
    this.onerror?.(error);
  }

  #suspect(): void {
    if (!this.isOver) this.setup.events.doubted();
  }
}

/** The id of the session that a server opened, returned in a header of every request. */
function sessionIdOf(answer: Answer): string | undefined {
  const id = answer.headers[headerNames.session];
  if (typeof id !== 'string' || id === '') return undefined;
  if (id.length <= sessionIdCharacters && /^[!-~]+$/u.test(id)) return id;
  answer.cancel();
  throw unexpected(
    `The server gave the session an id that is not 1 to ${sessionIdCharacters} visible ASCII characters.`,
  );
}

function isOfNetwork({ code, causes = [] }: Seen): boolean {
  return [code, ...causes.map((cause) => cause.code)].some(
    (it) => it !== undefined && /^(E[A-Z]|UND_ERR)/u.test(it),
  );
}
