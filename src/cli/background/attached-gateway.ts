/** The gateway of a client that another process attaches, over that process's connection. */

import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { printableLine } from '../../domain/data/printable.ts';
import { Gateway } from '../../gateway/gateway.ts';
import { startStdioGateway } from '../../gateway/stdio-gateway.ts';
import { realClock } from '../../runtime/real-clock.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import { relayNote } from '../control/protocol.ts';
import type { Launch } from '../launch.ts';
import { drainMs, logStates, longestNote } from '../run/gateway-notes.ts';

interface Shown {
  readonly only?: string;
  readonly view?: string;
}

export function attachedGateway(client: Troupe, launch: Launch, shown: Shown) {
  let socket: Socket | undefined;
  const missed: string[] = [];
  const note = (text: string): void => {
    const line = relayNote(printableLine(text, longestNote));
    if (socket === undefined) missed.push(line);
    else if (!socket.writableNeedDrain && socket.writable) socket.write(line);
  };
  const gateway = new Gateway({
    troupe: client,
    clock: realClock,
    report: note,
    asksForLogins: true,
    ...shown,
  });
  return {
    close: (): void => gateway.close(),
    /**
     * Serves the connection until its other end leaves.
     * @param end - ends the client
     * @returns how to end both, with the time that requests get
     */
    serve(given: Socket, end: () => Promise<void>): () => Promise<void> {
      socket = given;
      // The gateway reads only once it has started; nothing may be lost until then. The end of its input
      // would cancel its requests.
      const stdin = given.pipe(new PassThrough(), { end: false });
      const served = startStdioGateway(gateway, {
        stdin,
        stdout: given,
        idPrefix: `${randomUUID()}-`,
      });
      for (const line of missed) given.write(line);
      logStates(note, launch, client, shown.only);
      const leave = async (limitMs: number): Promise<void> => {
        await served.close(limitMs);
        given.end();
        await end();
      };
      const left = new Promise<number>((resolve) => {
        given.once('end', () => resolve(drainMs));
        given.once('close', () => resolve(0));
        // Its process may have ended while the client opened.
        if (given.destroyed) resolve(0);
        void served.closed.then(() => resolve(given.destroyed ? 0 : drainMs));
      });
      void left.then(leave);
      return () => leave(drainMs);
    },
  };
}
