/** Client of a running troupe's control socket. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { withinTime } from '../../../actors/host/time-limit.ts';
import type { Outcome } from '../../domain/caller-code.ts';
import { writeJson } from '../../domain/data/exact-json.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import { realClock } from '../../runtime/real-clock.ts';
import { isErrorDocument } from './error-document.ts';
import { readJsonLines } from './json-lines.ts';
import {
  type ControlEvent,
  type ControlResults,
  maxAnswerBytes,
  maxRequestBytes,
} from './protocol.ts';
import type { ControlArgs, ControlCommand } from './schemas.ts';
import { refuseForeignFolder } from './socket-path.ts';

interface Message {
  readonly id: unknown;
  readonly event?: ControlEvent;
  readonly error?: unknown;
  readonly result?: unknown;
}

/** A local answer takes milliseconds; after ten seconds the troupe hangs. */
const answerTimeoutMs = 10_000;

/** Connecting to a local socket is instant unless its owner was stopped with SIGSTOP. */
const connectTimeoutMs = 2_000;

/** The last two say that it has just ended. */
const absent = new Set([
  ...['ENOENT', 'ECONNREFUSED', 'ENOTDIR', 'ENOTSOCK'],
  ...['ECONNRESET', 'EPIPE'],
]);

const notAnswering = 'the running troupe does not answer; stop it and run troupe up again';

/** Connects; resolves with undefined when no troupe listens there. */
export async function connectControl(socketPath: string): Promise<ControlClient | undefined> {
  const socket = await connectSocket(socketPath);
  return socket === undefined ? undefined : new ControlClient(socket);
}

/** As {@link connectControl}, for what reads the connection itself. */
export async function connectSocket(socketPath: string): Promise<Socket | undefined> {
  refuseForeignFolder(path.dirname(socketPath));
  const socket = connect(socketPath);
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(connectTimeoutMs) });
    return socket;
  } catch (error) {
    socket.destroy();
    const { name, code = '' } = error as NodeJS.ErrnoException;
    if (name === 'AbortError') throw new TroupeError('TIMEOUT_WAITING', notAnswering);
    if (absent.has(code)) return undefined;
    throw new TroupeError(
      'UNAVAILABLE',
      `cannot use the socket ${socketPath} (${code}); choose another --state-dir`,
    );
  }
}

export class ControlClient {
  readonly #socket: Socket;
  /** Resolves once the connection is closed. */
  readonly closed: Promise<unknown>;
  /** Called with the answer to a request, or with null when the connection closes. */
  readonly #waiting = new Map<unknown, (answer: Message | null) => void>();
  #lastId = 0;
  #onEvent: ((event: ControlEvent) => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    readJsonLines(
      socket,
      maxAnswerBytes,
      (document) => this.#receive(document),
      () => socket.destroy(),
    );
    // `close` always follows and reports it.
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => void socket.on('close', resolve));
    socket.on('close', () => {
      for (const settle of this.#waiting.values()) settle(null);
    });
  }

  /**
   * Sends a command and resolves with its result.
   * @throws TroupeError as the troupe reported it; `TIMEOUT_WAITING` without an answer in time;
   *   `NOT_RUNNING` when the troupe ended
   */
  async request<Command extends ControlCommand>(
    command: Command,
    args: ControlArgs[Command],
    timeoutMs = answerTimeoutMs,
  ): Promise<ControlResults[Command]> {
    this.#lastId += 1;
    const id = this.#lastId;
    const line = `${writeJson({ id, command, args })}\n`;
    if (Buffer.byteLength(line) > maxRequestBytes) {
      throw argumentsError(
        'the arguments are larger than 1 MB; pass less, for example a file name',
      );
    }
    if (this.#socket.destroyed) throw endedDuring(command);
    const answered = new Promise<Message | null>((resolve) => {
      this.#waiting.set(id, resolve);
    });
    this.#socket.write(line);
    const answer = await withinTime(realClock, timeoutMs, answered);
    this.#waiting.delete(id);
    if (answer === undefined) throw late(command);
    if (answer === null) throw endedDuring(command);
    if (answer.error !== undefined) throw errorFrom(answer.error, command);
    // Not validated: both ends of the socket are the same version of this program.
    return answer.result as ControlResults[Command];
  }

  /** Reports events of these types (default: all) from now on; resolves when the troupe ends. */
  async follow(
    types: readonly ControlEvent['type'][] | undefined,
    onEvent: (event: ControlEvent) => void,
  ): Promise<void> {
    this.#onEvent = onEvent;
    await this.request('events', types === undefined ? {} : { types: [...types] });
    await this.closed;
  }

  /** Stops reading until the returned function is called. */
  pause(): () => void {
    this.#socket.pause();
    return () => void this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(document: unknown): void {
    if (!isRecord(document) || !('id' in document)) return;
    const { id, event } = document as unknown as Message;
    if (event === undefined) this.#waiting.get(id)?.(document as unknown as Message);
    else this.#onEvent?.(event);
  }
}

export function errorFrom(error: unknown, command: ControlCommand): TroupeError {
  if (isErrorDocument(error)) return new TroupeError(error.code, error.message, error);
  return new TroupeError(
    'INTERNAL',
    'the running troupe is another version; stop it and run troupe up again',
    { outcome: outcomeOf(command) },
  );
}

function endedDuring(command: ControlCommand): TroupeError {
  return new TroupeError(
    'NOT_RUNNING',
    'the troupe ended before it answered; run troupe up to start it again',
    { outcome: outcomeOf(command), retryable: command !== 'call' },
  );
}

/** A call may have run; any other command can be repeated. */
function outcomeOf(command: ControlCommand): Outcome {
  return command === 'call' ? 'unknown' : 'not_executed';
}

function late(command: ControlCommand): TroupeError {
  if (command !== 'call')
    return new TroupeError('TIMEOUT_WAITING', notAnswering, { retryable: true });
  return new TroupeError(
    'TIMEOUT',
    'no answer came in time, but the call may have run; check before you repeat it',
    { outcome: 'unknown' },
  );
}
