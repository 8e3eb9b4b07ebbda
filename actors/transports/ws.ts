/**
 * Carries a session over a WebSocket: one message of MCP in each message of text.
 * Its closing is the end of the session. Connections go where a guarded fetch
 * may go, and nowhere else; redirects are not followed.
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { type RawData, WebSocket } from 'ws';

import type { SessionEvidence } from '../../src/domain/session.ts';
import { version } from '../../src/domain/version.ts';
import { printableLine } from '../../src/policies/text/printable.ts';
import type { HttpEndpoint } from '../values/target.ts';
import {
  type Connection,
  type ConnectionSetup,
  maxMessageBytes,
  maxUnsentBytes,
  NotSentError,
  type Seen,
  UnwritableError,
} from './connection/connection.ts';
import { createEnvelopeReader } from './connection/envelope.ts';
import { describeError } from './connection/failure.ts';
import { charactersPerWork, refusedAnswer, tooManyBytes } from './connection/messages.ts';
import { RequestFailedError } from './connection/request-failed.ts';
import { MessageStages } from './connection/stages.ts';
import { retryAfterOf } from './http/fetch.ts';
import { createSockets, type Sockets } from './http/sockets.ts';

// As long as an HTTP session waits for a connection.
const handshakeMs = 10_000;
// Twice the way there and back of a distant server; whoever does not say goodbye by then is cut off.
// A few times what is kept, so that one answer that is too long costs its own call; the package
// ends the connection for more.
const maxReadBytes = 4 * maxMessageBytes;
const goodbyeMs = 1_000;
const subprotocol = 'mcp';
const reasonCharacters = 200;

// Registered with IANA for "log in" and "not you"; the others say nothing of who is to act.
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

/** The server answered the handshake with something else than a WebSocket. */
class RefusedError extends Error {
  override readonly name = 'RefusedError';
  readonly status: number;

  constructor(status: number) {
    super(`The server refused the WebSocket with status ${status}.`);
    this.status = status;
  }
}

export class WsTransport implements Transport, Connection {
  readonly kind = 'ws';
  // With these two the SDK takes silence after the question for the era as "no", as over stdio.
  readonly pid = undefined;
  readonly stderr = null;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];

  readonly stages: MessageStages;
  readonly #endpoint: HttpEndpoint;
  readonly #setup: ConnectionSetup;
  readonly #sockets: Sockets;
  #socket: WebSocket | undefined;
  #isOver = false;
  #hasOpened = false;
  #hasRemarked = false;
  #error: Error | undefined;
  #retryAfterMs: number | undefined;
  #closed: Promise<void> | undefined;

  constructor(endpoint: HttpEndpoint, setup: ConnectionSetup) {
    this.#endpoint = endpoint;
    this.#setup = setup;
    this.#sockets = createSockets(setup.clock, (range) => range !== 'forbidden');
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
  }

  get transport(): Transport {
    return this;
  }

  async start(): Promise<void> {
    if (this.#isOver) throw new NotSentError('Not connected');
    const { url, headers } = this.#endpoint;
    let wasConnected = false;
    try {
      // By itself, since the published types do not know all of them yet.
      const options = {
        headers: { 'user-agent': `mcp-troupe/${version}`, ...headers },
        agent: this.#sockets.agentFor(asHttp(url)),
        handshakeTimeout: handshakeMs,
        maxPayload: maxReadBytes,
        // What is compressed may be a thousand times as large.
        perMessageDeflate: false,
        followRedirects: false,
        // Whoever said goodbye keeps the connection for no longer than our own goodbye takes.
        closeTimeout: goodbyeMs,
      };
      const socket = new WebSocket(url, [subprotocol], options);
      this.#socket = socket;
      await this.#opened(socket, () => {
        wasConnected = true;
      });
    } catch (error) {
      if (error instanceof RefusedError) throw error;
      throw new RequestFailedError(asHttp(url), error, wasConnected);
    }
  }

  send(message: JSONRPCMessage): Promise<void> {
    const socket = this.#socket;
    if (this.#isOver || socket?.readyState !== WebSocket.OPEN)
      return Promise.reject(new NotSentError('Not connected'));
    if (socket.bufferedAmount > maxUnsentBytes)
      return Promise.reject(new NotSentError('The server does not read its messages.'));
    let text: string;
    try {
      text = JSON.stringify(message);
    } catch (error) {
      return Promise.reject(new UnwritableError(error));
    }
    this.stages.sent(message);
    if ('method' in message) this.#setup.events.sending(message.method);
    socket.send(text);
    return Promise.resolve();
  }

  context(status?: number): Partial<Seen> {
    const waitMs = status === undefined ? undefined : this.#retryAfterMs;
    return waitMs === undefined ? {} : { retryAfterMs: waitMs };
  }

  evidence(): SessionEvidence {
    return {};
  }

  close(isLost = false): Promise<void> {
    this.#over();
    this.#closed ??= isLost ? Promise.resolve(this.#cut()) : this.#sayGoodbye();
    return this.#closed;
  }

  dispose(): void {
    this.#over();
    this.#cut();
  }

  #opened(socket: WebSocket, onConnected: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      socket.once('open', () => {
        this.#hasOpened = true;
        resolve();
      });
      socket.once('upgrade', onConnected);
      socket.once('unexpected-response', (_request, response) => {
        onConnected();
        const { statusCode = 0, headers } = response;
        this.#retryAfterMs = retryAfterOf(headers['retry-after'] ?? null, this.#setup.clock);
        response.destroy();
        reject(new RefusedError(statusCode));
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
        // What has no code was found wrong by the package with the answer of the server.
        this.#error = 'code' in error ? error : Object.assign(error, { code: 'BAD_RESPONSE' });
        reject(this.#error);
        // Nothing can be understood after it, and the package would read on until the server leaves.
        socket.terminate();
      });
      socket.once('close', (code, reason) => {
        reject(Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }));
        this.#lose(code, reason.toString('utf8'));
      });
    });
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (this.#isOver) return;
    const messages = isBinary ? [] : this.#messagesOf(bytesOf(data));
    if (messages.length === 0 && !this.#hasRemarked) {
      this.#hasRemarked = true;
      this.#setup.events.remark('sent something that is no MCP message');
    }
    for (const message of messages) this.stages.deliver(message, this.onmessage);
  }

  #messagesOf(bytes: Buffer): readonly JSONRPCMessage[] {
    if (bytes.length <= maxMessageBytes) return this.stages.read(bytes.toString('utf8'));
    this.stages.budget.charge(bytes.length / charactersPerWork);
    const reader = createEnvelopeReader();
    reader.push(bytes);
    return refusedAnswer(reader.envelope(), tooManyBytes);
  }

  #lose(code: number, reason: string): void {
    if (this.#isOver) return;
    // Before the handshake is over, whoever opens it is told.
    if (this.#hasOpened) this.#setup.events.ended(this.#endOf(code, reason));
    this.#over();
  }

  #endOf(code: number, reason: string): Seen {
    if (this.#error !== undefined) {
      const error = describeError(this.#error, this.#setup.secrets);
      return { ...error, code: knownCode(error.code), wasConnected: true };
    }
    const words = wordsOfClose.get(code);
    const said = reason === '' ? '' : `: ${printableLine(reason, reasonCharacters)}`;
    const status = statusOfClose.get(code);
    return {
      code: 'CONNECTION_CLOSED',
      message: `The server closed the WebSocket with code ${code}${words === undefined ? '' : ` (${words})`}${said}.`,
      ...(status !== undefined && { status }),
    };
  }

  #sayGoodbye(): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined || socket.readyState !== WebSocket.OPEN)
      return Promise.resolve(this.#cut());
    const { clock } = this.#setup;
    return new Promise((resolve) => {
      const timer = clock.setTimeout(() => socket.terminate(), goodbyeMs);
      socket.once('close', () => {
        clock.clearTimeout(timer);
        this.#cut();
        resolve();
      });
      socket.close(1000);
    });
  }

  #cut(): void {
    this.#socket?.terminate();
    this.#sockets.close();
  }

  /** The SDK fails all that is in flight; what arrives later is dropped. */
  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.stages.stop();
    this.onclose?.();
  }
}

function asHttp(url: URL): URL {
  return new URL(url.href.replace(/^ws/u, 'http'));
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}

/** What `ws` finds wrong with a message is the server's answer, not a lost line. */
function knownCode(code: string | undefined): string {
  if (code === undefined) return 'CONNECTION_CLOSED';
  return code.startsWith('WS_ERR_') ? 'BAD_RESPONSE' : code;
}
