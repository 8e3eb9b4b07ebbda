/**
 * Carries a session over the HTTP with SSE transport that MCP had before 2025: the server sends its
 * messages on a single event stream, whose first event names the address to post to.
 *
 * The stream is the session. The server drops the session when the stream ends, so a lost stream is
 * never reopened: the connection has ended.
 */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { redactWords } from '../../src/policies/text/redact-words.ts';
import { NotSentError, RefusedError, unexpected } from '../../src/protocol/errors.ts';
import { headerNames } from '../../src/protocol/headers.ts';
import { serialize } from '../../src/protocol/messages.ts';
import { Connection, type ConnectionSetup, type Seen } from './connection/connection.ts';
import { addressOf, describeError } from './connection/failure.ts';
import { BlockedError } from './http/addresses.ts';
import { isEventStream, tooLongAnswer } from './http/body.ts';
import { isMessageEvent, readEvents } from './http/events.ts';
import { type Answer, createGuardedFetch } from './http/fetch.ts';
import { answeredBy, cancelledBy, Posts } from './http/posts.ts';
import type { RemoteEndpoint } from './http/proxy-and-tls.ts';

export class SseTransport extends Connection {
  readonly kind = 'sse';
  readonly #endpoint: RemoteEndpoint;
  readonly #guarded;
  readonly #controller = new AbortController();
  readonly #posts: Posts;
  #postTo: URL | undefined;
  #protocolVersion: string | undefined;
  #opened: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | undefined;

  constructor(endpoint: RemoteEndpoint, setup: ConnectionSetup) {
    super(setup);
    this.#endpoint = endpoint;
    this.#posts = new Posts(setup.clock);
    const { clock, authenticator } = setup;
    const { url, reach } = endpoint;
    this.#guarded = createGuardedFetch(url, clock, { reach, authenticator });
  }

  override get workCount(): number {
    return this.#posts.workCount;
  }

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
  }

  /** Resolves once the server has named the address to post to. */
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
      throw unexpected('The server answered with something other than an event stream.');
    }
    await new Promise<void>((resolve, reject) => {
      this.#opened = { resolve, reject };
      void this.#read(answer.body);
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    // A cancelled request is given up even when nothing more can be sent.
    this.#posts.breakOff(cancelledBy(message));
    if (this.isOver || this.#postTo === undefined) throw new NotSentError('Not connected');
    const body = serialize(message);
    const post = this.#posts.begin(message);
    const version = this.#protocolVersion;
    this.noteSent(message);
    try {
      const answer = await this.#guarded.fetch(this.#postTo, {
        method: 'POST',
        headers: {
          ...this.#endpoint.headers,
          'content-type': 'application/json',
          ...(version !== undefined && { [headerNames.protocolVersion]: version }),
        },
        body,
        signal: post.signal,
      });
      if (!answer.ok) throw await refusalOf(answer, 'The server refused a message');
      // Read to its end, so that the connection can be reused.
      await answer.text().catch(() => {});
    } catch (error) {
      if (post.id !== undefined) this.#posts.settle(post.id);
      throw error;
    } finally {
      this.#posts.end(post);
    }
  }

  override context(status?: number): Partial<Seen> {
    return {
      address: redactWords(addressOf(this.#endpoint.url), this.setup.secrets),
      // The address to post to identifies the session.
      ...(this.#postTo !== undefined && { hasSessionId: true }),
      ...this.#guarded.context(status),
    };
  }

  close(): Promise<void> {
    this.dispose();
    return Promise.resolve();
  }

  dispose(): void {
    this.over();
    this.#controller.abort();
    this.#posts.breakOffAll();
    this.#guarded.close();
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<void> {
    let seen: Seen = { code: 'STREAM_LOST', message: 'The event stream of the server ended.' };
    try {
      await readEvents(body, {
        budget: this.stages.budget,
        onEvent: (event) => {
          if (this.isOver) return;
          if (event.event === 'endpoint') this.#locate(event.data);
          else if (isMessageEvent(event)) this.#receive(event.data);
        },
      });
    } catch (error) {
      // The stream is lost, but the request that the long event answers still gets its own error.
      const failure = this.isOver ? undefined : tooLongAnswer(error, undefined);
      if (failure !== undefined) this.stages.deliver(failure, this.onmessage);
      seen = { ...describeError(error, this.setup.secrets), wasConnected: true };
    }
    this.lose(seen);
  }

  /** Handles the first event, which names the address to post to; ignores later ones. */
  #locate(text: string): void {
    if (this.#postTo !== undefined) return;
    const { url } = this.#endpoint;
    if (!URL.canParse(text, url.href)) {
      this.#opened?.reject(unexpected('The server named no address to post to.'));
      return;
    }
    const target = new URL(text, url.href);
    if (target.origin !== url.origin || target.username !== '' || target.password !== '') {
      const where = addressOf(target);
      this.#opened?.reject(
        new BlockedError(`The server wants messages posted to ${where}, another origin.`),
      );
      return;
    }
    this.#postTo = target;
    this.#opened?.resolve();
  }

  #receive(text: string): void {
    const messages = this.stages.read(text);
    if (messages.length === 0) this.remarkOnce('sent an event that is not an MCP message');
    for (const message of messages) {
      const id = answeredBy(message);
      if (id !== undefined) this.#posts.settle(id);
      this.stages.deliver(message, this.onmessage);
    }
  }

  protected override lose(seen: Seen): void {
    if (this.#postTo !== undefined) super.lose(seen);
    else if (!this.isOver)
      this.#opened?.reject(Object.assign(new Error(seen.message), { code: 'STREAM_LOST' }));
  }
}

async function refusalOf(answer: Answer, what: string): Promise<RefusedError> {
  const { status, statusText } = answer;
  const text = await answer.text().catch(() => '');
  const said = text === '' ? statusText : text;
  const message = `${what} (status ${status})${said === '' ? '' : `: ${said}`}`;
  return new RefusedError(message, { status, statusText, text });
}
