import type { ServerStatus } from '../../domain/host/status.ts';
import type { CommandDefinition } from '../command-definition.ts';
import type { ControlClient } from '../control/client.ts';
import { withRunning } from '../control/running-troupe.ts';
import { settleTimeoutMs } from '../control/settled-servers.ts';
import type { Output } from '../show/output.ts';
import { showStartProgress } from '../show/start-progress.ts';
import { problemLines, statusLine } from '../show/status-log.ts';

type Wish = 'start' | 'stop' | 'restart';

const summaries: Readonly<Record<Wish, string>> = {
  start: 'start a server that is stopped or has given up, and wait until it is ready',
  stop: 'stop a server; it stays stopped until it is started again',
  restart: 'end a server and start it anew with fresh budgets, and wait until it is ready',
};

/** The answer may take as long as the server, and a moment for the way. */
const extraMs = 2_000;

/** Defines `start`, `stop`, `restart` and `reload`: what a person wants of the running troupe. */
export const serverCommands: readonly CommandDefinition[] = [
  ...(['start', 'stop', 'restart'] as const).map(
    (wish): CommandDefinition => ({
      usage: `${wish} <server>`,
      summary: summaries[wish],
      example: `troupe ${wish} db`,
      async run({ launch, output }, [server = '']) {
        const timeoutMs = launch.timeoutMs ?? settleTimeoutMs;
        const { status } = await withRunning(launch, async (client) => {
          const endProgress = wish === 'stop' ? undefined : followStart(output, client, server);
          try {
            return await client.request(wish, { server, timeoutMs }, timeoutMs + extraMs);
          } finally {
            endProgress?.();
          }
        });
        output.document({ status });
        output.lines([statusLine(status, Date.now())]);
        if (wish === 'stop') output.lines(stopLater(status));
        return 0;
      },
    }),
  ),
  {
    usage: 'reload',
    summary: 'read all settings files again, without waiting for the watcher',
    example: 'troupe reload',
    async run({ launch, output }) {
      const { troupe } = await withRunning(launch, (client) => client.request('reload', {}));
      output.document({ troupe });
      output.lines([
        'settings are read again; see troupe status',
        ...problemLines(troupe.problems),
      ]);
      return 0;
    },
  },
];

/** The line of progress, fed by the running troupe's events; returns how to end it. */
function followStart(output: Output, client: ControlClient, server: string): () => void {
  let latest: readonly ServerStatus[] = [];
  return showStartProgress(output, {
    servers: () => latest,
    onChange(listener) {
      const follow = client.follow(['status.changed'], (event) => {
        if (event.type !== 'status.changed' || event.status.name !== server) return;
        latest = [event.status];
        listener();
      });
      // Progress is a comfort: what is wrong is told by the answer.
      follow.catch(() => undefined);
      return () => undefined;
    },
  });
}

/** Admission outranks the wish to stop, which is kept: said, or nobody would expect it. */
function stopLater({ name, state, reason }: ServerStatus): string[] {
  if (state !== 'blocked' && state !== 'disabled') return [];
  const change = reason === 'pendingApproval' ? 'it is approved' : 'that changes';
  return [`${name} also stays stopped when ${change}, until: troupe start ${name}`];
}
