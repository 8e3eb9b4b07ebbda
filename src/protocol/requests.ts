/**
 * Sends the requests of callers over an open connection: `tools/call`, `resources/read`,
 * `prompts/get` and `completion/complete`, in both protocol eras. The client handles the rest:
 * handshake, lists, subscriptions and requests from the server.
 *
 * A request is one object from its first sending to its result, however many rounds of questions lie
 * between. It settles exactly once: by its response, its deadline, its caller's abort, a failed send,
 * or the end of the connection. A later response goes to the client, which ignores it.
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { Clock } from '../domain/clock.ts';
import { keepNumbers } from '../domain/data/exact-json.ts';
import { isRecord } from '../domain/data/is-record.ts';
import type { CallProgress, SessionCallOptions } from '../domain/session.ts';
import { Deadline, Deadlines } from './deadlines.ts';
import { NotSentError } from './errors.ts';
import { alreadySent, streamLost } from './messages.ts';
import { forwardedMeta } from './meta.ts';
import { type CallKind, methods } from './methods.ts';
import type { Fields } from './results.ts';
import { RpcError } from './rpc-codes.ts';

export const closedMessage = 'The session is closed.';

/** The connection that carries the messages. */
export interface Wire {
  readonly transport: Pick<Transport, 'send' | 'onclose'>;
  readonly stages: { calls: ((message: JSONRPCMessage) => boolean) | undefined };
  /** Gives up a request by ending its own stream; absent where requests have none. */
  abandon?(id: string | number): void;
}

/** A message to send for a request. */
export interface Outgoing {
  readonly kind: CallKind;
  readonly params: Fields;
  readonly meta: Fields | undefined;
  /** HTTP headers that belong to this message. */
  readonly headers?: Record<string, string> | undefined;
}

type Settle = (value: unknown) => void;

/** One request of a caller. */
export class OpenRequest extends Deadline {
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((progress: CallProgress) => void) | undefined;
  /** The id of the last message sent for it. */
  id = -1;
  /** The number of messages sent for it. */
  sends = 0;
  /** Why the latest question of the server about it was not answered. */
  unanswered: string | undefined;
  /** Why the latest question that may be about it or about another request was not answered. */
  perhapsUnanswered: string | undefined;
  /** Whether the server answered the last message, in whatever shape. */
  isAnswered = false;
  onAnswer: (result: Fields) => void = ignore;
  /** Called when it cannot go on, whether or not a message is in flight. */
  onFailure: Settle = ignore;
  readonly #requests: Requests;

  constructor(requests: Requests, deadlines: Deadlines<OpenRequest>, options: SessionCallOptions) {
    super(deadlines, options);
    this.#requests = requests;
    this.signal = options.signal;
    this.onProgress = options.onProgress;
  }

  /** Whether the server is asked to report progress. */
  get hearsProgress(): boolean {
    return this.onProgress !== undefined || this.isRenewable;
  }

  override onLate(): void {
    this.#requests.giveUp(this, timedOut());
  }

  /** The signal's listener. */
  handleEvent(): void {
    this.#requests.giveUp(this, this.signal?.reason);
  }
}

export class Requests {
  readonly #connection: Wire;
  readonly #envelope: Fields | undefined;
  readonly #deadlines: Deadlines<OpenRequest>;
  /** The places of the requests with a message in flight, by the id of that message. */
  readonly #inFlight = new Map<number, number>();
  #isClosed: boolean;

  constructor(clock: Clock, connection: Wire, envelope: Fields | undefined, isClosed = false) {
    this.#isClosed = isClosed;
    this.#connection = connection;
    this.#envelope = envelope;
    this.#deadlines = new Deadlines(clock);
    connection.stages.calls = (message) => this.#takes(message);
    const { transport } = connection;
    const { onclose } = transport;
    transport.onclose = () => {
      try {
        onclose?.();
      } finally {
        this.#close();
      }
    };
  }

  begin(options: SessionCallOptions): OpenRequest {
    const request = new OpenRequest(this, this.#deadlines, options);
    this.#deadlines.add(request);
    request.signal?.addEventListener('abort', request, { once: true });
    return request;
  }

  /**
   * Sends one message for a request, which has none in flight. `onSending` gets the message's id just
   * before it is sent, because the response may arrive before sending returns.
   */
  send(
    request: OpenRequest,
    { kind, params, meta, headers }: Outgoing,
    onAnswer: (result: Fields) => void,
    onFailure: Settle,
    onSending?: (id: number) => void,
  ): void {
    const id = takeRequestId();
    request.id = id;
    request.sends += 1;
    request.isAnswered = false;
    request.onAnswer = onAnswer;
    request.onFailure = onFailure;
    this.#inFlight.set(id, request.place);
    if (this.#isClosed || request.signal?.aborted === true) {
      this.#fail(request, id, new NotSentError(closedMessage));
      return;
    }
    // Its time ran out between two rounds; no response could find it.
    if (request.place < 0) return this.#fail(request, id, timedOut());
    onSending?.(id);
    const all = this.#paramsOf(params, meta, request.hearsProgress ? id : undefined);
    const message: JSONRPCMessage = { jsonrpc: '2.0', id, method: methods[kind].name, params: all };
    const sent = this.#connection.transport.send(message, headers && { headers });
    if (sent !== alreadySent) sent.catch((error: unknown) => this.#fail(request, id, error));
  }

  /** Sends one message for a request, and resolves with its result. */
  exchange(
    request: OpenRequest,
    outgoing: Outgoing,
    onSending?: (id: number) => void,
  ): Promise<Fields> {
    return new Promise((resolve, reject) => {
      this.send(request, outgoing, resolve, reject, onSending);
    });
  }

  /** Ends a request. */
  end(request: OpenRequest): void {
    request.signal?.removeEventListener('abort', request);
    this.#deadlines.remove(request);
  }

  /** Fails a request; the server is notified if it is working on it. */
  giveUp(request: OpenRequest, reason: unknown): void {
    if (this.#inFlight.delete(request.id)) this.#cancel(request.id, reason);
    request.onFailure(reason);
  }

  #paramsOf(params: Fields, meta: Fields | undefined, progressToken: number | undefined): Fields {
    if (this.#envelope === undefined && meta === undefined && progressToken === undefined)
      return params;
    const token = progressToken !== undefined && { progressToken };
    const all = { ...this.#envelope, ...meta, ...token };
    return { ...params, _meta: meta === undefined ? all : keepNumbers(all, meta) };
  }

  #cancel(requestId: number, reason: unknown): void {
    // A modern server is notified by the end of the request's own stream, where it has one.
    if (this.#envelope !== undefined && this.#connection.abandon !== undefined) {
      this.#connection.abandon(requestId);
      return;
    }
    const meta = this.#envelope && { _meta: this.#envelope };
    const params = { requestId, reason: inWords(reason), ...meta };
    const message: JSONRPCMessage = { jsonrpc: '2.0', method: methods.cancelled.name, params };
    // A connection that cannot send reports that elsewhere.
    this.#connection.transport.send(message).catch(() => {});
  }

  /** Takes the responses to these requests, and their progress. */
  #takes(message: JSONRPCMessage): boolean {
    if ('method' in message)
      return message.method === methods.progress.name && this.#hearsProgress(message.params);
    const request = this.#asked(message.id);
    if (request === undefined) return false;
    this.#inFlight.delete(request.id);
    // That mark is ours: no answer came.
    request.isAnswered = !('error' in message && message.error.data === streamLost);
    if ('error' in message) request.onFailure(new RpcError(message.error));
    else request.onAnswer(message.result);
    return true;
  }

  #asked(given: unknown): OpenRequest | undefined {
    // Some servers return a numeric id as a string.
    const id = typeof given === 'number' ? given : Number(given);
    const place = this.#inFlight.get(id);
    const request = place === undefined ? undefined : this.#deadlines.at(place);
    return request?.id === id ? request : undefined;
  }

  #hearsProgress(params: unknown): boolean {
    const given = isRecord(params) ? params : {};
    const { progressToken, progress, total, message } = given;
    const meta = isRecord(given['_meta']) ? forwardedMeta(given['_meta']) : undefined;
    const request = this.#asked(progressToken);
    if (request?.hearsProgress !== true || typeof progress !== 'number') return false;
    request.renew();
    try {
      const heard = {
        progress,
        ...(typeof total === 'number' && { total }),
        ...(typeof message === 'string' && { message }),
        ...(meta !== undefined && { _meta: meta }),
      };
      request.onProgress?.(keepNumbers(heard, given));
    } catch {
      // The caller's exception is not the server's fault, and the call goes on.
    }
    return true;
  }

  #fail(request: OpenRequest, id: number, error: unknown): void {
    if (this.#inFlight.delete(id)) request.onFailure(error);
  }

  #close(): void {
    this.#isClosed = true;
    for (const id of [...this.#inFlight.keys()]) {
      const closed = { code: 'CONNECTION_CLOSED' };
      const request = this.#asked(id);
      const error = Object.assign(new Error('Connection closed'), closed);
      if (request !== undefined) this.#fail(request, id, error);
    }
  }
}

/**
 * Request ids form one sequence for all of this process's connections. An id is never reused, so a
 * late response matches no other request, even if a server or proxy sends it on another connection.
 * The sequence starts at 0, which leaves two billion ids for servers that store them in 32 bits.
 */
let nextRequestId = 0;

/** Returns the next id. */
export function takeRequestId(): number {
  const id = nextRequestId;
  nextRequestId += 1;
  return id;
}

function timedOut(): Error {
  return Object.assign(new Error('Request timed out'), { code: 'REQUEST_TIMEOUT' });
}

/** Describes why a caller aborted, which may be any value, even one that cannot be converted to a string. */
function inWords(reason: unknown): string {
  const hasText = typeof reason === 'string' || reason instanceof Error;
  return hasText ? String(reason) : 'The call was cancelled.';
}

function ignore(): void {}
