/**
 * Listens on the control socket of one troupe and answers requests in the order
 * they are done. Knows lines, limits and connections; what a command does is in
 * `control-commands.ts`.
 *
 * Guarantees: at most one live listener per path; a client that misbehaves,
 * stalls or vanishes harms nobody but itself.
 */

import { chmodSync, renameSync, statSync, unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { TroupeError } from '../domain/troupe-error.ts';
import { checkedCommand } from './checked-command.ts';
import { connectControl } from './control-client.ts';
import {
  type ControlAnswer,
  type ControlEvent,
  type ControlId,
  maxRequestBytes,
} from './control-protocol.ts';
import { type ControlCommand, controlRequest } from './control-schemas.ts';
import { makePrivateFolder } from './control-socket-path.ts';
import { errorDocumentOf } from './error-document.ts';
import { createLineReader } from './line-reader.ts';

/** What a command may use beside its arguments. */
export interface ControlContext {
  /** Fires when the client is gone: nobody wants the answer any more. */
  readonly signal: AbortSignal;
  /** Sends an event under the id of this request. */
  readonly emit: (event: ControlEvent) => void;
}

/** Does one command; its arguments were checked against `controlArgs`. */
export type ControlHandler<Command extends ControlCommand = ControlCommand> = (
  command: Command,
  args: unknown,
  context: ControlContext,
) => Promise<unknown>;

export interface ControlServer {
  readonly path: string;
  /** Removes the socket and leaves every client. */
  close(): void;
}

// Commands of people and scripts: a handful at once. More are refused, not queued.
const maxConnections = 64;
const maxRequestsInFlight = 64;
// A client that does not read its events loses some rather than filling our memory.
const maxUnsentEventBytes = 1_048_576;

/**
 * Takes the socket over from a troupe that died, or refuses.
 * @throws TroupeError `USAGE` naming the pid when a live troupe holds it.
 */
export async function openControlServer(
  socketPath: string,
  handler: ControlHandler,
): Promise<ControlServer> {
  makePrivateFolder(path.dirname(socketPath));
  await removeStaleSocket(socketPath);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    serveClient(socket, handler);
  });
  server.maxConnections = maxConnections;
  await listen(server, socketPath);
  chmodSync(socketPath, 0o600);
  // A failing accept (too many open files) must not end the troupe; the next client may do better.
  server.on('error', () => undefined);
  return {
    path: socketPath,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function listen(server: Server, socketPath: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new TroupeError(
              'USAGE',
              'another troupe of this project is just starting; use that one: troupe status',
            )
          : new TroupeError(
              'PERMISSION_DENIED',
              `the socket ${socketPath} cannot be opened (${error.code}); choose another --state-dir`,
            ),
      );
    });
    server.listen(socketPath, resolve);
  });
}

async function removeStaleSocket(socketPath: string): Promise<void> {
  const before = inodeOf(socketPath);
  if (before === undefined) return;
  const client = await connectControl(socketPath);
  if (client !== undefined) {
    const owner = await client.request('identify', {}, 2_000).catch(() => undefined);
    client.close();
    const pid = owner === undefined ? '' : ` (pid ${owner.pid})`;
    throw new TroupeError(
      'USAGE',
      `a troupe of this project is already running${pid}; use it, or stop it first with Ctrl-C or kill`,
    );
  }
  // Moved aside rather than removed: had another troupe taken the path over since
  // we looked, we would now hold its live socket, and give it back.
  const aside = `${socketPath}.${process.pid}.stale`;
  try {
    renameSync(socketPath, aside);
    if (inodeOf(aside) === before) unlinkSync(aside);
    else renameSync(aside, socketPath);
  } catch {
    // Somebody else removed it first; listening will tell.
  }
}

function inodeOf(file: string): number | undefined {
  try {
    return statSync(file).ino;
  } catch {
    return undefined;
  }
}

function serveClient(socket: Socket, handler: ControlHandler): void {
  const gone = new AbortController();
  let inFlight = 0;
  let dropped = 0;

  const send = (answer: ControlAnswer): void => {
    if (!socket.destroyed) socket.write(`${JSON.stringify(answer)}\n`);
  };
  const emit = (id: ControlId, event: ControlEvent): void => {
    if (socket.writableLength > maxUnsentEventBytes) {
      dropped += 1;
      return;
    }
    if (dropped > 0) send({ id, event: { type: 'events.dropped', count: dropped } });
    dropped = 0;
    send({ id, event });
  };
  const refuse = (id: ControlId, message: string): void => {
    send({ id, error: errorDocumentOf(new TroupeError('INVALID_ARGUMENTS', message)) });
  };

  const answer = async (line: string): Promise<void> => {
    const request = controlRequest.safeParse(parseJson(line));
    if (!request.success) {
      refuse(null, 'that line is no request; send {"id": 1, "command": "status", "args": {}}');
      return;
    }
    const { id, command, args } = request.data;
    if (inFlight >= maxRequestsInFlight) {
      send({
        id,
        error: errorDocumentOf(
          new TroupeError('OVERLOADED', 'too many requests at once; wait for an answer first', {
            retryable: true,
          }),
        ),
      });
      return;
    }
    inFlight += 1;
    try {
      const context = { signal: gone.signal, emit: (event: ControlEvent) => emit(id, event) };
      const checked = checkedCommand(command, args);
      send({ id, result: await handler(checked.command, checked.args, context) });
    } catch (error) {
      send({ id, error: errorDocumentOf(error) });
    } finally {
      inFlight -= 1;
    }
  };

  const reader = createLineReader(
    maxRequestBytes,
    (line) => {
      if (line.trim() !== '') void answer(line);
    },
    () => {
      refuse(null, 'that line is longer than 1 MB; send less');
      socket.end();
    },
  );
  socket.on('data', (chunk: Buffer) => reader.push(chunk));
  // Told by `close`, which follows.
  socket.on('error', () => undefined);
  socket.on('close', () => gone.abort());
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
