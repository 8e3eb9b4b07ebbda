/**
 * The troupe in the background: the first command that needs one starts it, in a process of its own; the
 * later ones use it. It starts a server once a client needs it, and ends when it has had no client for a
 * minute, or when it is told to and has none.
 */

import { TroupeError } from '../../domain/troupe-error.ts';
import { realClock } from '../../runtime/real-clock.ts';
import { retain } from '../../runtime/retention.ts';
import type { CliSession, CommandDefinition } from '../command.ts';
import { identityOf } from '../control/running-troupe.ts';
import { type ControlHandler, openControlServer } from '../control/server.ts';
import { controlSocketPath } from '../control/socket-path.ts';
import { removeDeadCallSockets } from '../control/stale-sockets.ts';
import { backgroundCommand } from '../control/start.ts';
import { troupeOptionsOf } from '../launch.ts';
import { inspectHere, recordedAlways } from '../run/inspect-here.ts';
import { stopOrderly, untilStopped } from '../run/stop.ts';
import { AttachedClients } from './attached-clients.ts';
import { startForOffers } from './joined-clients.ts';

/** Servers stay up from one command of a user to the next. */
const unusedMs = 60_000;

/** The command that runs it, with its flags as one JSON word: `start.ts` gives it, and no user. */
export const backgroundDefinition: CommandDefinition = {
  usage: backgroundCommand,
  summary: 'run the troupe that commands share',
  example: `troupe ${backgroundCommand} {}`,
  run: runInBackground,
};

/** Runs until it is no longer needed. Resolves with the exit code. */
async function runInBackground({ host, launch }: CliSession): Promise<number> {
  const createTroupe = await host.loadRuntime();
  let begin = (_answer: ControlHandler): void => undefined;
  const begun = new Promise<ControlHandler>((resolve) => (begin = resolve));
  // Requests that come earlier wait.
  let answer: ControlHandler = async (...request) => (await begun)(...request);
  let connections = 0;
  let leftAt = realClock.now();
  let useChanged = (): void => undefined;
  await removeDeadCallSockets(launch);
  const socket = await openControlServer(
    controlSocketPath(launch),
    (...request) => answer(...request),
    {
      onCount: (count) => {
        connections = count;
        if (count === 0) leftAt = realClock.now();
        useChanged();
      },
    },
  );
  return untilStopped(host, async (ended, request) => {
    const troupe = createTroupe({
      ...troupeOptionsOf(launch),
      policy: { startup: { mode: 'lazy' } },
      onQuestion: () => undefined,
      inspect: recordedAlways,
    });
    const identity = { ...identityOf(launch, host.version), background: true } as const;
    const inspecting = inspectHere(troupe, identity);
    const attached = new AttachedClients(troupe, launch, inspecting.handler, host.env);
    let retireNow = (): void => undefined;
    const unneeded = new Promise<undefined>((resolve) => {
      const use = () => ({
        isInUse: connections > 0,
        unusedMs: realClock.now() - leftAt,
        keptMs: unusedMs,
      });
      ({ useChanged } = retain(realClock, use, () => resolve(undefined)));
      retireNow = () => resolve(undefined);
    });
    try {
      await Promise.race([ended, troupe.ready()]);
      answer = async (command, args, context) => {
        if (command !== 'retire') {
          startForOffers(troupe, command, args);
          return attached.handler(command, args, context);
        }
        // The one that asks is connected as well.
        const ends = connections <= 1;
        if (ends) retireNow();
        return { ends };
      };
      begin(answer);
      // The command that started it may have been killed.
      process.send?.('listening', undefined, undefined, () => undefined);
      const end = await Promise.race([ended, unneeded]);
      answer = () => Promise.reject(isEnding());
      // The next one can open the socket at once.
      socket.stopAccepting();
      await attached.close();
      await stopOrderly(troupe, request, { force: end !== undefined });
      return end;
    } finally {
      inspecting.close();
      socket.close();
    }
  });
}

function isEnding(): TroupeError {
  const message = 'the troupe is just ending; run the command again';
  return new TroupeError('SHUTTING_DOWN', message, { retryable: true });
}
