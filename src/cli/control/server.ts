/**
 * Serves the control socket of one troupe: lines, limits and connections. `commands.ts` runs the commands.
 * Answers are sent as they become ready.
 *
 * Guarantees at most one live listener per path. A client that misbehaves, stalls or disappears affects
 * only itself.
 */

import { chmodSync } from 'node:fs';
import type { Socket } from 'node:net';
import path from 'node:path';
import { ConnectionLimits, usualStrangers } from '../../../actors/host/connection-limits.ts';
import { socketListener } from '../../../actors/host/listener.ts';
import { Outbox, type OutboxLimits } from '../../../actors/host/slow-readers.ts';
import type { CallerCode } from '../../domain/caller-code.ts';
import { graftNumbers, writeJson } from '../../domain/data/exact-json.ts';
import type { AskPermission } from '../../domain/permission.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { usageError } from '../../domain/user-errors.ts';
import { errorDocumentOf } from './error-document.ts';
import { readJsonLines } from './json-lines.ts';
import {
  type ControlAnswer,
  type ControlEvent,
  type ControlId,
  maxAnswerBytes,
  maxRequestBytes,
} from './protocol.ts';
import { type ControlCommand, checkedCommand, controlRequest } from './schemas.ts';
import { makePrivateFolder } from './socket-path.ts';
import { removeStaleSocket } from './stale-sockets.ts';

/** Passed to a command besides its arguments. */
export interface ControlContext {
  /** Fires when the client disconnects. */
  readonly signal: AbortSignal;
  /** Sends an event under the id of this request. */
  readonly emit: (event: ControlEvent) => void;
  /**
   * Hands the connection over after the answer: nothing but what `use` writes is sent on it, and nothing
   * else reads it. Absent where the command did not come over a connection.
   */
  readonly handOver?: (use: (socket: Socket) => void) => void;
  /** Has another handler run the further requests of the connection. */
  readonly serveWith?: (handler: ControlHandler) => void;
  /** Asks the user about a call; only where the troupe runs in the command's own process. */
  readonly askPermission?: AskPermission | undefined;
}

/** Runs one command; its arguments were validated against `controlArgs`. */
export type ControlHandler<Command extends ControlCommand = ControlCommand> = (
  command: Command,
  args: unknown,
  context: ControlContext,
) => Promise<unknown>;

export interface ControlServer {
  readonly path: string;
  /** Removes the socket, so that another troupe may open it; the present clients stay connected. */
  stopAccepting(): void;
  /** Removes the socket and disconnects every client. */
  close(): void;
}

// Users and scripts send a handful of commands at once. More are refused, not queued.
const maxClients = 64;
const maxRequestsInFlight = 64;
const usualLimits: OutboxLimits = {
  // A client that does not read its events loses some; they are not buffered without limit.
  noteBytes: 1_048_576,
  // The longest answer fits, and one more for a second client.
  unsentBytes: maxAnswerBytes,
  unsentTotalBytes: 2 * maxAnswerBytes,
};

/**
 * Opens the socket, replacing one left behind by a dead troupe.
 * @throws TroupeError `USAGE` with the pid when a live troupe holds it
 */
export async function openControlServer(
  socketPath: string,
  handler: ControlHandler,
  {
    limits = {},
    onCount = () => undefined,
  }: {
    readonly limits?: Partial<OutboxLimits>;
    /** Called with the number of connections whenever it changes. */
    readonly onCount?: (connections: number) => void;
  } = {},
): Promise<ControlServer> {
  makePrivateFolder(path.dirname(socketPath));
  await removeStaleSocket(socketPath);
  // Only a request distinguishes a client from a connection that was left open.
  const connections = new ConnectionLimits({ strangers: usualStrangers, known: maxClients });
  const outbox = new Outbox({ ...usualLimits, ...limits });
  let count = 0;
  const counted = (change: 1 | -1): void => onCount((count += change));
  const listener = socketListener(connections, (socket) => {
    counted(1);
    socket.on('close', () => counted(-1));
    outbox.add(socket);
    serveClient(socket, handler, connections, outbox);
  });
  await listener.listen({ path: socketPath }, ({ code }) =>
    code === 'EADDRINUSE'
      ? usageError('another troupe for this project is just starting; see troupe status')
      : new TroupeError(
          'PERMISSION_DENIED',
          `cannot open the socket ${socketPath} (${code}); choose another --state-dir`,
        ),
  );
  chmodSync(socketPath, 0o600);
  return {
    path: socketPath,
    stopAccepting: () => listener.stopAccepting(),
    close: () => listener.close(),
  };
}

function serveClient(
  socket: Socket,
  handler: ControlHandler,
  connections: ConnectionLimits,
  outbox: Outbox,
): void {
  const gone = new AbortController();
  let inFlight = 0;
  let dropped = 0;
  let isHandedOver = false;
  let run = handler;

  const send = (answer: ControlAnswer): void => outbox.write(socket, lineOf(answer));
  const refuse = (id: ControlId, code: CallerCode, message: string): void => {
    const error = new TroupeError(code, message, { retryable: code === 'OVERLOADED' });
    send({ id, error: error.toJSON() });
  };
  const emit = (id: ControlId, event: ControlEvent): void => {
    const gap: ControlEvent = { type: 'events.dropped', count: dropped };
    const missed = dropped === 0 ? '' : lineOf({ id, event: gap });
    dropped = outbox.note(socket, missed + lineOf({ id, event })) ? 0 : dropped + 1;
  };

  const answer = async (document: unknown): Promise<void> => {
    const request = controlRequest.safeParse(document);
    if (!request.success) {
      const example = '{"id": 1, "command": "status", "args": {}}';
      return refuse(null, 'INVALID_ARGUMENTS', `that line is not a request; send ${example}`);
    }
    const { id, command, args } = request.data;
    if (inFlight >= maxRequestsInFlight)
      return refuse(id, 'OVERLOADED', 'too many requests at once; wait for an answer');
    const end = connections.begin(socket);
    if (end === undefined) {
      refuse(id, 'OVERLOADED', `${maxClients} clients are connected; try again later`);
      socket.end();
      return;
    }
    inFlight += 1;
    try {
      let takeOver: ((socket: Socket) => void) | undefined;
      const context: ControlContext = {
        signal: gone.signal,
        emit: (event) => emit(id, event),
        handOver: (use) => void (takeOver = use),
        serveWith: (own) => void (run = own),
      };
      const checked = checkedCommand(command, args);
      graftNumbers(checked.args, args);
      send({ id, result: await run(checked.command, checked.args, context) });
      if (takeOver !== undefined) {
        isHandedOver = true;
        stopReading();
        outbox.release(socket);
        takeOver(socket);
      } else if (checked.command !== 'events') {
        // A client that follows events is never idle.
        end();
      }
    } catch (error) {
      send({ id, error: errorDocumentOf(error) });
      end();
    } finally {
      inFlight -= 1;
    }
  };

  const stopReading = readJsonLines(
    socket,
    maxRequestBytes,
    (document) => void answer(document),
    () => {
      refuse(null, 'INVALID_ARGUMENTS', 'that line is longer than 1 MB; send less');
      socket.end();
    },
  );
  // `close` always follows.
  socket.on('error', () => undefined);
  socket.on('end', () => {
    if (!isHandedOver) socket.end();
  });
  socket.on('close', () => gone.abort());
}

function lineOf(answer: ControlAnswer): string {
  return `${writeJson(answer)}\n`;
}
