/**
 * Carries a session over a WebSocket, with one MCP message in each text message. The session ends
 * when the socket closes. The address rules of HTTP apply; redirects are not followed.
 */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { type RawData, WebSocket } from 'ws';
import { printableLine } from '../../src/domain/data/printable.ts';
import { version } from '../../src/domain/version.ts';
import { redactWords } from '../../src/policies/text/redact-words.ts';
import { NotSentError, RefusedError } from '../../src/protocol/errors.ts';
import {
  charactersPerWork,
  EnvelopeReader,
  refusedAnswer,
  serialize,
  tooManyBytes,
} from '../../src/protocol/messages.ts';
import { withinTime } from '../host/time-limit.ts';
import {
  Connection,
  type ConnectionSetup,
  maxMessageBytes,
  maxUnsentBytes,
  type Seen,
} from './connection/connection.ts';
import { addressOf, describeError, RequestFailedError } from './connection/failure.ts';
import { type RefusedAnswer, Repetitions, readRefusal } from './connection/refusal.ts';
import { asHttp } from './http/addresses.ts';
import { retryAfterOf } from './http/fetch.ts';
import type { RemoteEndpoint } from './http/proxy-and-tls.ts';
import { createSockets, type Sockets } from './http/sockets.ts';

// As long as an HTTP session waits for a connection.
const handshakeMs = 10_000;
// A few times the message limit, so that a response that is too long fails only its own call; for
// anything longer, the `ws` package ends the connection.
const maxReadBytes = 4 * maxMessageBytes;
// Two round trips to a distant server; after that, the socket is cut.
const goodbyeMs = 1_000;
const subprotocol = 'mcp';
const reasonCharacters = 200;

// Registered with IANA as "unauthorized" and "forbidden"; the other codes do not require a login.
const statusOfClose: ReadonlyMap<number, number> = new Map([
  [3000, 401],
  [3003, 403],
]);
const wordsOfClose: ReadonlyMap<number, string> = new Map([
  [1000, 'normal end'],
  [1001, 'going away'],
  [1002, 'protocol error'],
  [1003, 'unsupported data'],
  [1005, 'no code'],
  [1006, 'cut off'],
  [1007, 'invalid text'],
  [1008, 'against its policy'],
  [1009, 'message too big'],
  [1011, 'internal error'],
  [1012, 'restart'],
  [1013, 'try again later'],
]);

export class WsTransport extends Connection {
  readonly kind = 'ws';
  readonly #endpoint: RemoteEndpoint;
  readonly #sockets: Sockets;
  #socket: WebSocket | undefined;
  #sentWith: Readonly<Record<string, string>> = {};
  #handshake: 'pending' | 'upgraded' | 'open' = 'pending';
  #error: Error | undefined;
  #retryAfterMs: number | undefined;
  #closed: Promise<void> | undefined;

  constructor(endpoint: RemoteEndpoint, setup: ConnectionSetup) {
    super(setup);
    this.#endpoint = endpoint;
    this.#sockets = createSockets(setup.clock, (range) => range !== 'forbidden', {
      reach: endpoint.reach,
    });
  }

  async start(): Promise<void> {
    const { authenticator } = this.setup;
    const repetitions = new Repetitions();
    for (;;) {
      if (this.isOver) throw new NotSentError('Not connected');
      const sentWith = (await authenticator?.headers('GET', asHttp(this.#endpoint.url))) ?? {};
      if (this.isOver) throw new NotSentError('Not connected');
      this.#sentWith = sentWith;
      const refusal = await this.#open(sentWith).catch((error: unknown) => {
        const wasConnected = this.#handshake !== 'pending';
        throw new RequestFailedError(this.#endpoint.url, error, wasConnected);
      });
      if (refusal === undefined) return;
      const mayRepeat =
        repetitions.take(refusal) && (await authenticator?.refused({ ...refusal, sentWith }));
      if (mayRepeat === true) continue;
      this.over();
      const { status } = refusal;
      throw new RefusedError(`The server refused the WebSocket with status ${status}.`, { status });
    }
  }

  async #open(sentWith: Readonly<Record<string, string>>): Promise<RefusedAnswer | undefined> {
    const { url, headers } = this.#endpoint;
    // A variable, because the published types lack some of these options.
    const options = {
      headers: { 'user-agent': `mcp-troupe/${version}`, ...headers, ...sentWith },
      agent: this.#sockets.agentFor(asHttp(url)),
      handshakeTimeout: handshakeMs,
      maxPayload: maxReadBytes,
      // Compressed data may expand a thousandfold.
      perMessageDeflate: false,
      followRedirects: false,
      // Once the server sends its closing frame, its socket stays no longer than ours would.
      closeTimeout: goodbyeMs,
    };
    const socket = new WebSocket(url, [subprotocol], options);
    this.#socket = socket;
    return this.#opened(socket);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const socket = this.#socket;
    if (this.isOver || socket?.readyState !== WebSocket.OPEN)
      throw new NotSentError('Not connected');
    if (socket.bufferedAmount > maxUnsentBytes)
      throw new NotSentError('The server does not read its messages.');
    const text = serialize(message);
    this.noteSent(message);
    socket.send(text);
  }

  override context(status?: number): Partial<Seen> {
    const waitMs = status === undefined ? undefined : this.#retryAfterMs;
    return {
      address: redactWords(addressOf(this.#endpoint.url), this.setup.secrets),
      ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    };
  }

  close(isLost = false): Promise<void> {
    this.over();
    this.#closed ??= this.#end(isLost);
    return this.#closed;
  }

  dispose(): void {
    this.over();
    this.#cut();
  }

  /** Resolves with the response to the handshake if it is anything but a WebSocket. */
  #opened(socket: WebSocket): Promise<RefusedAnswer | undefined> {
    let isRefused = false;
    return new Promise((resolve, reject) => {
      socket.once('open', () => {
        this.#handshake = 'open';
        resolve(undefined);
      });
      socket.once('upgrade', () => {
        this.#handshake = 'upgraded';
      });
      socket.once('unexpected-response', (_request, response) => {
        const { statusCode: status = 0, headers } = response;
        this.#retryAfterMs = retryAfterOf(headers['retry-after'], this.setup.clock);
        response.destroy();
        isRefused = true;
        resolve(readRefusal(status, headers));
        socket.terminate();
      });
      socket.on('message', (data, isBinary) => {
        this.stages.fence(() => this.#receive(data, isBinary));
        const { budget } = this.stages;
        if (!budget.isSpent || socket.isPaused) return;
        socket.pause();
        budget.whenFree(() => socket.resume());
      });
      socket.on('error', (error) => {
        if (isRefused) return;
        // An error without a code means that the package considers the server's response invalid.
        this.#error = 'code' in error ? error : Object.assign(error, { code: 'BAD_RESPONSE' });
        reject(this.#error);
        // Nothing after it can be understood, and the package would read on until the server leaves.
        socket.terminate();
      });
      socket.once('close', (code, reason) => {
        if (isRefused) return;
        reject(Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }));
        this.#onClose(code, reason.toString('utf8'));
      });
    });
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (this.isOver) return;
    const messages = isBinary ? [] : this.#messagesOf(bytesOf(data));
    if (messages.length === 0) this.remarkOnce('sent something that is not an MCP message');
    for (const message of messages) this.stages.deliver(message, this.onmessage);
  }

  #messagesOf(bytes: Buffer): readonly JSONRPCMessage[] {
    if (bytes.length <= maxMessageBytes) return this.stages.read(bytes.toString('utf8'));
    this.stages.budget.charge(bytes.length / charactersPerWork);
    const reader = new EnvelopeReader();
    reader.push(bytes);
    return refusedAnswer(reader.envelope(), tooManyBytes);
  }

  #onClose(code: number, reason: string): void {
    // A failed handshake rejects `start` instead.
    if (this.#handshake !== 'open') return this.over();
    const status = statusOfClose.get(code);
    const { authenticator } = this.setup;
    if (status === undefined || authenticator === undefined)
      return this.lose(this.#endOf(code, reason, status));
    const sentWith = this.#sentWith;
    authenticator.refused({ status, sentWith }).then(
      // With another token, the next session may be accepted.
      (isOther) => this.lose(this.#endOf(code, reason, isOther ? undefined : status)),
      () => this.lose(this.#endOf(code, reason)),
    );
  }

  #endOf(code: number, reason: string, status?: number): Seen {
    if (this.#error !== undefined) {
      const error = describeError(this.#error, this.setup.secrets);
      return { ...error, code: knownCode(error.code), wasConnected: true };
    }
    const words = wordsOfClose.get(code);
    const said = reason === '' ? '' : `: ${printableLine(reason, reasonCharacters)}`;
    return {
      code: 'CONNECTION_CLOSED',
      message: `The server closed the WebSocket with code ${code}${words === undefined ? '' : ` (${words})`}${said}.`,
      ...(status !== undefined && { status }),
    };
  }

  async #end(isLost: boolean): Promise<void> {
    const socket = this.#socket;
    if (!isLost && socket?.readyState === WebSocket.OPEN) {
      const hasClosed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      socket.close(1000);
      await withinTime(this.setup.clock, goodbyeMs, hasClosed);
    }
    this.#cut();
  }

  #cut(): void {
    this.#socket?.terminate();
    this.#sockets.close();
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}

/**
 * Maps a connection error to a known code. An error from the `ws` package means an invalid message,
 * not a lost connection.
 */
function knownCode(code: string | undefined): string {
  if (code === undefined) return 'CONNECTION_CLOSED';
  return code.startsWith('WS_ERR_') ? 'BAD_RESPONSE' : code;
}
