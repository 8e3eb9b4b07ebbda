import type { ServerStatus } from '../../domain/host/status.ts';
import type { CommandDefinition } from '../command.ts';
import type { ControlClient } from '../control/client.ts';
import { askRunning, withRunning } from '../control/running-troupe.ts';
import { settleTimeoutMs } from '../control/settled-servers.ts';
import type { Output } from '../show/output.ts';
import { showStartProgress } from '../show/start-progress.ts';
import { problemLines, statusLine } from '../show/status-lines.ts';

type Wish = 'start' | 'stop' | 'restart';

const summaries: Readonly<Record<Wish, string>> = {
  start: 'start a server that was stopped or gave up, and wait until it is ready',
  stop: 'stop a server; it stays stopped until it is started again',
  restart: 'stop and start a server with fresh retry budgets, and wait until it is ready',
};

/** The answer may take as long as the server, plus a moment for the socket. */
const extraMs = 2_000;

/** `start`, `stop`, `restart` and `reload`. */
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
      },
    }),
  ),
  {
    usage: 'reload',
    summary: 'read all settings files again without waiting for the file watcher',
    example: 'troupe reload',
    async run({ launch, output }) {
      const { troupe } = await askRunning(launch, 'reload', {});
      output.document({ troupe });
      output.lines([
        'reading the settings again; see troupe status',
        ...problemLines(troupe.problems),
      ]);
    },
  },
];

/** Shows progress from the running troupe's events; returns how to end it. */
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
      // Progress is optional; the request itself reports errors.
      follow.catch(() => undefined);
      return () => undefined;
    },
  });
}

/** Explains that a blocked or disabled server also stays stopped once it is admitted. */
function stopLater({ name, state, reason }: ServerStatus): string[] {
  if (state !== 'blocked' && state !== 'disabled') return [];
  const change = reason === 'pendingApproval' ? 'it is approved' : 'that changes';
  return [`${name} stays stopped even when ${change}; run troupe start ${name} to start it`];
}
