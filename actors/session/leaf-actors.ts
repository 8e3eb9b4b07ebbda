/**
 * The leaf actors of a session chart: one callback for the connection, which lasts as long as the
 * session, and a promise for each step. A step obeys its signal: once its state is left, it starts
 * nothing more.
 *
 * All actors of a session share its I/O. The `wire` actor creates it, and disposes of it when the
 * session ends or is stopped: no process or socket outlives the session.
 */

import { fromCallback, fromPromise } from 'xstate';

import type {
  CloseOutcome,
  ConnectOutcome,
  LaunchOutcome,
  ListName,
  ListOutcome,
  ResolveOutcome,
  SessionId,
  WireCommand,
  WireFact,
} from '../../src/domain/session.ts';

export type Handshake = 'negotiated' | 'old' | 'overSse';
export type Ending = 'orderly' | 'lost' | 'draining';

/** A session's I/O. A failed step is an outcome; a rejection is a bug of ours. */
export interface SessionIo {
  resolve(signal: AbortSignal): Promise<ResolveOutcome>;
  launch(isSecond: boolean, signal: AbortSignal): Promise<LaunchOutcome>;
  connect(handshake: Handshake, signal: AbortSignal): Promise<ConnectOutcome>;
  list(list: ListName, signal: AbortSignal): Promise<ListOutcome>;
  /** Resolves when nothing of the connection is left; when draining, resolves at once. */
  close(how: Ending): Promise<CloseOutcome>;
  /** Probes whether the server is alive. */
  probe(): void;
  /** Reports the connection as lost, unless the server may be silent because of its calls. */
  abandon(): void;
  /** Reports which watched resources changed. */
  publish(): void;
  /** Ends the connection by force; a `close` in progress then resolves. */
  kill(): void;
  /** Releases everything at once, by force. Facts reported after that are ignored. */
  dispose(): void;
}

export type CreateSessionIo = (id: SessionId, report: (fact: WireFact) => void) => SessionIo;

/** Creates the leaf actors for all sessions of a troupe. */
export function createSessionActors(createIo: CreateSessionIo) {
  const sessions = new Map<string, SessionIo>();
  const ioOf = ({ actorId }: SessionId): SessionIo => {
    const io = sessions.get(actorId);
    if (io === undefined) throw new Error(`${actorId} has no session`);
    return io;
  };
  const wire = fromCallback<WireCommand, SessionId>(({ input, sendBack, receive }) => {
    const io = createIo(input, sendBack);
    sessions.set(input.actorId, io);
    receive(({ type }) => {
      try {
        if (type === 'wire.probe') io.probe();
        else if (type === 'wire.abandon') io.abandon();
        else if (type === 'wire.publish') io.publish();
        else io.kill();
      } catch (error) {
        // XState does not clean up after a callback that throws. The entry stays for this session's
        // last steps; the next session replaces it.
        io.dispose();
        throw error;
      }
    });
    return () => {
      if (sessions.get(input.actorId) === io) sessions.delete(input.actorId);
      io.dispose();
    };
  });
  return {
    wire,
    resolveTarget: fromPromise<ResolveOutcome, SessionId>(({ input, signal }) =>
      ioOf(input).resolve(signal),
    ),
    launchProcess: fromPromise<LaunchOutcome, SessionId & { readonly isSecond: boolean }>(
      ({ input, signal }) => ioOf(input).launch(input.isSecond, signal),
    ),
    connectClient: fromPromise<ConnectOutcome, SessionId & { readonly handshake: Handshake }>(
      ({ input, signal }) => ioOf(input).connect(input.handshake, signal),
    ),
    listItems: fromPromise<ListOutcome, SessionId & { readonly list: ListName }>(
      ({ input, signal }) => ioOf(input).list(input.list, signal),
    ),
    closeConnection: fromPromise<CloseOutcome, SessionId & { readonly how: Ending }>(({ input }) =>
      ioOf(input).close(input.how),
    ),
  };
}

export type SessionActors = ReturnType<typeof createSessionActors>;
