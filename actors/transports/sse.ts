/**
 * Carries a session over the two-way HTTP of before 2025: a stream of events
 * brings what the server says, and a first event names where to post.
 *
 * The stream is the session. When it ends, the server forgets all that was said
 * on it, so nothing is ever opened again here: the connection has ended.
 */

import {
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type Transport,
} from '@modelcontextprotocol/client';

import type { SessionEvidence } from '../../src/domain/session.ts';
import type { HttpEndpoint } from '../values/target.ts';
import {
  type Connection,
  type ConnectionSetup,
  NotSentError,
  type Seen,
  UnwritableError,
} from './connection/connection.ts';
import { describeError } from './connection/failure.ts';
import { addressOf } from './connection/request-failed.ts';
import { MessageStages } from './connection/stages.ts';
import { isEventStream } from './http/body.ts';
import { isMessageEvent, readEvents } from './http/events.ts';
import { type Answer, createGuardedFetch } from './http/fetch.ts';
import { answeredBy, cancelledBy, Posts } from './http/posts.ts';
import { AddressBlockedError } from './http/sockets.ts';
import { tooLongAnswer } from './http/too-long.ts';

export class SseTransport implements Transport, Connection {
  readonly kind = 'sse';
  readonly pid = undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];

  readonly stages: MessageStages;
  readonly #endpoint: HttpEndpoint;
  readonly #setup: ConnectionSetup;
  readonly #guarded;
  readonly #controller = new AbortController();
  readonly #posts: Posts;
  #postTo: URL | undefined;
  #protocolVersion: string | undefined;
  #isOver = false;
  #hasRemarked = false;
  #opened: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | undefined;

  constructor(endpoint: HttpEndpoint, setup: ConnectionSetup) {
    this.#endpoint = endpoint;
    this.#setup = setup;
    this.#posts = new Posts(setup.clock);
    this.#guarded = createGuardedFetch({ home: endpoint.url, clock: setup.clock });
    this.stages = new MessageStages({
      clock: setup.clock,
      events: setup.events,
      send: (message) => this.send(message),
      lose: (seen) => this.#lose(seen),
    });
  }

  get transport(): Transport {
    return this;
  }

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
  }

  /** Resolves when the server has said where to post. */
  async start(): Promise<void> {
    const { url, headers } = this.#endpoint;
    const { signal } = this.#controller;
    const answer = await this.#guarded.fetch(url, {
      headers: { ...headers, accept: 'text/event-stream', 'cache-control': 'no-cache' },
      signal,
    });
    if (!answer.ok) throw await refusalOf(answer, 'The server did not open its event stream');
    if (!isEventStream(answer)) {
      answer.cancel();
      throw new SdkError(
        SdkErrorCode.ClientHttpUnexpectedContent,
        'The server answered with something else than an event stream.',
      );
    }
    await new Promise<void>((resolve, reject) => {
      this.#opened = { resolve, reject };
      void this.#read(answer.body);
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    // Also while nothing is sent any more.
    this.#posts.breakOff(cancelledBy(message));
    if (this.#isOver || this.#postTo === undefined) throw new NotSentError('Not connected');
    let body: string;
    try {
      body = JSON.stringify(message);
    } catch (error) {
      throw new UnwritableError(error);
    }
    const post = this.#posts.begin(message);
    this.stages.sent(message);
    if ('method' in message) this.#setup.events.sending(message.method);
    try {
      await this.#post(this.#postTo, body, post.signal);
    } catch (error) {
      if (post.id !== undefined) this.#posts.settle(post.id);
      throw error;
    } finally {
      this.#posts.end(post);
    }
  }

  context(status?: number): Partial<Seen> {
    const refusal = this.#guarded.lastRefusal();
    const waitMs = refusal?.status === status ? refusal?.retryAfterMs : undefined;
    return {
      // The address to post to names the session.
      ...(this.#postTo !== undefined && { hasSessionId: true }),
      ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    };
  }

  evidence(): SessionEvidence {
    return {};
  }

  close(): Promise<void> {
    this.dispose();
    return Promise.resolve();
  }

  dispose(): void {
    this.#over();
    this.#controller.abort();
    this.#posts.breakOffAll();
    this.#guarded.close();
  }

  async #post(url: URL, body: string, signal: AbortSignal): Promise<void> {
    const version = this.#protocolVersion;
    const answer = await this.#guarded.fetch(url, {
      method: 'POST',
      headers: {
        ...this.#endpoint.headers,
        'content-type': 'application/json',
        ...(version !== undefined && { 'mcp-protocol-version': version }),
      },
      body,
      signal,
    });
    if (!answer.ok) throw await refusalOf(answer, 'The server refused a message');
    // Read to its end, so that the connection can be used again.
    await answer.text().catch(() => {});
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<void> {
    let seen: Seen = { code: 'STREAM_LOST', message: 'The event stream of the server ended.' };
    try {
      await readEvents(body, {
        budget: this.stages.budget,
        onEvent: (event) => {
          if (this.#isOver) return;
          if (event.event === 'endpoint') this.#locate(event.data);
          else if (isMessageEvent(event)) this.#receive(event.data);
        },
      });
    } catch (error) {
      // The stream is lost with it, but whose answer it was need not be told less than is known.
      const answer = this.#isOver ? undefined : tooLongAnswer(error, undefined);
      if (answer !== undefined) this.stages.deliver(answer, this.onmessage);
      seen = { ...describeError(error, this.#setup.secrets), wasConnected: true };
    }
    this.#lose(seen);
  }

  /** The first event says where to post; nobody is sent elsewhere later. */
  #locate(text: string): void {
    if (this.#postTo !== undefined) return;
    const { url } = this.#endpoint;
    if (!URL.canParse(text, url.href)) {
      this.#opened?.reject(
        new SdkError(
          SdkErrorCode.ClientHttpUnexpectedContent,
          'The server named no address to post to.',
        ),
      );
      return;
    }
    const target = new URL(text, url.href);
    if (target.origin !== url.origin || target.username !== '' || target.password !== '') {
      const where = addressOf(target);
      this.#opened?.reject(
        new AddressBlockedError(`The server wants messages posted to ${where}, another origin.`),
      );
      return;
    }
    this.#postTo = target;
    this.#opened?.resolve();
  }

  #receive(text: string): void {
    const messages = this.stages.read(text);
    if (messages.length === 0) this.#remark();
    for (const message of messages) {
      const id = answeredBy(message);
      if (id !== undefined) this.#posts.settle(id);
      this.stages.deliver(message, this.onmessage);
    }
  }

  #remark(): void {
    if (this.#hasRemarked) return;
    this.#hasRemarked = true;
    this.#setup.events.remark('sent an event that is no MCP message');
  }

  #lose(seen: Seen): void {
    if (this.#isOver) return;
    if (this.#postTo === undefined) {
      this.#opened?.reject(Object.assign(new Error(seen.message), { code: 'STREAM_LOST' }));
      return;
    }
    this.#setup.events.ended(seen);
    this.#over();
  }

  /** The SDK fails all that is in flight; what arrives later is dropped. */
  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.stages.stop();
    this.onclose?.();
  }
}

async function refusalOf(answer: Answer, what: string): Promise<SdkHttpError> {
  const { status, statusText } = answer;
  const text = await answer.text().catch(() => '');
  const said = text === '' ? statusText : text;
  return new SdkHttpError(
    SdkErrorCode.ClientHttpNotImplemented,
    `${what} (status ${status})${said === '' ? '' : `: ${said}`}`,
    { status, statusText, text },
  );
}
