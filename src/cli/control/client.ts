/** Client of a running troupe's control socket. */

import { connect, type Socket } from 'node:net';
import path from 'node:path';
import type { ErrorDocument, Outcome } from '../../domain/caller-code.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { isErrorDocument } from './error-document.ts';
import { createLineReader } from './line-reader.ts';
import {
  type ControlEvent,
  type ControlResults,
  maxAnswerBytes,
  maxRequestBytes,
} from './protocol.ts';
import type { ControlArgs, ControlCommand } from './schemas.ts';
import { refuseForeignFolder } from './socket-path.ts';

export interface ControlClient {
  /**
   * Sends a command and resolves with its result.
   * @throws TroupeError as the troupe reported it; `TIMEOUT_WAITING` without an answer in time;
   *   `NOT_RUNNING` when the troupe ended
   */
  request<Command extends ControlCommand>(
    command: Command,
    args: ControlArgs[Command],
    timeoutMs?: number,
  ): Promise<ControlResults[Command]>;
  /** Reports events of these types (default: all) from now on; resolves when the troupe ends. */
  follow(
    types: readonly ControlEvent['type'][] | undefined,
    listener: (event: ControlEvent) => void,
  ): Promise<void>;
  /** Stops reading until the returned function is called. */
  pause(): () => void;
  close(): void;
}

/** A local answer takes milliseconds; after ten seconds the troupe hangs. */
const answerTimeoutMs = 10_000;

/** Connecting to a local socket is instant unless its owner was stopped with SIGSTOP. */
const connectTimeoutMs = 2_000;

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly command: ControlCommand;
}

/** Connects; resolves with undefined when no troupe listens there. */
export async function connectControl(socketPath: string): Promise<ControlClient | undefined> {
  refuseForeignFolder(path.dirname(socketPath));
  const socket = await openSocket(socketPath);
  return socket === undefined ? undefined : clientOn(socket);
}

function openSocket(socketPath: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new TroupeError('TIMEOUT_WAITING', notAnswering));
    }, connectTimeoutMs);
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve(socket);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      if (['ENOENT', 'ECONNREFUSED', 'ENOTDIR', 'ENOTSOCK'].includes(error.code ?? '')) {
        resolve(undefined);
      } else {
        reject(
          new TroupeError(
            'UNAVAILABLE',
            `cannot use the socket ${socketPath} (${error.code}); choose another --state-dir`,
          ),
        );
      }
    });
  });
}

const notAnswering = 'the running troupe does not answer; stop it and run troupe up again';

function clientOn(socket: Socket): ControlClient {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let listener: ((event: ControlEvent) => void) | undefined;
  let whenGone: (() => void) | undefined;

  const settle = (line: string): void => {
    const answer = parseAnswer(line);
    if (answer === undefined) return;
    if ('event' in answer) {
      listener?.(answer.event);
      return;
    }
    const asked = waiting.get(answer.id as number);
    if (asked === undefined) return;
    waiting.delete(answer.id as number);
    if ('error' in answer) asked.reject(errorFrom(answer.error, asked.command));
    else asked.resolve(answer.result);
  };
  const reader = createLineReader(maxAnswerBytes, settle, () => socket.destroy());

  socket.on('data', (chunk: Buffer) => reader.push(chunk));
  // `close` always follows and reports it.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    for (const { reject, command } of waiting.values()) reject(goneWhile(command));
    waiting.clear();
    whenGone?.();
  });

  const request: ControlClient['request'] = (command, args, timeoutMs = answerTimeoutMs) => {
    lastId += 1;
    const id = lastId;
    const line = `${JSON.stringify({ id, command, args })}\n`;
    if (Buffer.byteLength(line) > maxRequestBytes) {
      return Promise.reject(
        new TroupeError(
          'INVALID_ARGUMENTS',
          'the arguments are larger than 1 MB; pass less, for example a file name',
        ),
      );
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(id);
        reject(late(command));
      }, timeoutMs);
      const done =
        <Value>(then: (value: Value) => void) =>
        (value: Value) => {
          clearTimeout(timer);
          then(value);
        };
      // Not validated: both ends of the socket are the same version of this program.
      waiting.set(id, {
        command,
        resolve: done(resolve as (result: unknown) => void),
        reject: done(reject),
      });
      if (socket.destroyed) waiting.get(id)?.reject(goneWhile(command));
      else socket.write(line);
    });
  };

  return {
    request,
    async follow(types, onEvent) {
      listener = onEvent;
      const gone = new Promise<void>((resolve) => {
        whenGone = resolve;
      });
      await request('events', types === undefined ? {} : { types: [...types] });
      await gone;
    },
    pause() {
      socket.pause();
      return () => void socket.resume();
    },
    close() {
      socket.destroy();
    },
  };
}

function parseAnswer(line: string) {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || !('id' in value)) return undefined;
  return value as
    | { id: unknown; result: unknown }
    | { id: unknown; error: unknown }
    | { id: unknown; event: ControlEvent };
}

function errorFrom(error: unknown, command: ControlCommand): TroupeError {
  if (!isErrorDocument(error)) {
    return new TroupeError(
      'INTERNAL',
      'the running troupe is another version; stop it and run troupe up again',
      { outcome: outcomeOf(command) },
    );
  }
  return new TroupeError(error.code, error.message, error satisfies ErrorDocument);
}

function goneWhile(command: ControlCommand): TroupeError {
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
  return command === 'call'
    ? new TroupeError(
        'TIMEOUT',
        'no answer came in time, but the call may have run; check before you repeat it',
        {
          outcome: 'unknown',
        },
      )
    : new TroupeError('TIMEOUT_WAITING', notAnswering, { retryable: true });
}
