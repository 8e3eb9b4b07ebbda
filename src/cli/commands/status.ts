import type { TroupeSnapshot } from '../../domain/host/status.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import type { ControlClient } from '../control/client.ts';
import { withRunning } from '../control/running-troupe.ts';
import { followEvents } from '../run/follow-events.ts';
import { sinceText } from '../show/durations.ts';
import { problemLines, statusDetails, statusLines } from '../show/status-lines.ts';
import { createTroupeView } from '../show/troupe-view.ts';

/** `status`: a table of all servers, or everything about one. */
export const statusCommand: CommandDefinition<{ readonly watch?: true }> = {
  usage: 'status [server]',
  summary: 'show the state of all servers of the running troupe, or everything about one',
  example: 'troupe status db',
  options: [flag('--watch', 'keep showing it until Ctrl-C')],
  async run(session, [server], { watch = false }) {
    const { launch, output } = session;
    if (watch && launch.json) {
      throw new TroupeError(
        'USAGE',
        '--watch prints many statuses and --json only one; use one of them',
      );
    }
    return withRunning(launch, async (client) => {
      const snapshot = await client.request('status', server === undefined ? {} : { server });
      if (watch) return watchStatus(session, client, snapshot, server);
      output.document(snapshot);
      const now = Date.now();
      const { troupe, servers } = snapshot;
      if (server !== undefined)
        output.lines(servers.flatMap((each) => statusDetails(each, now, output.width)));
      else
        output.lines([
          `troupe ${troupe.state}, pid ${troupe.pid}, since ${sinceText(troupe.since, now)}`,
          ...statusLines(servers, now, output.width, output.paint),
          ...problemLines(troupe.problems).map((line) => output.paint('red', line)),
        ]);
      return 0;
    });
  },
};

/** Assembles the table from the status changes that the socket sends. */
async function watchStatus(
  session: CliSession,
  client: ControlClient,
  first: TroupeSnapshot,
  only: string | undefined,
): Promise<number> {
  const servers = new Map(first.servers.map((server) => [server.name, server]));
  const source = {
    snapshot: (): TroupeSnapshot => ({
      troupe: first.troupe,
      servers: [...servers.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    }),
    footer: [`pid ${first.troupe.pid}; Ctrl-C closes this view, not the troupe`],
  };
  const view = createTroupeView(session, source);
  for (const status of first.servers) view.event({ type: 'status.changed', status });
  const refresh = async (): Promise<void> => {
    const { servers: present } = await client.request('status', {});
    const names = new Set(present.map((server) => server.name));
    for (const name of servers.keys()) if (!names.has(name)) servers.delete(name);
  };
  const followed = ['status.changed', 'reconciled', 'settings.invalid'] as const;
  try {
    return await followEvents(session.host, client, followed, (event) => {
      if (event.type === 'status.changed') {
        if (only !== undefined && event.status.name !== only) return;
        servers.set(event.status.name, event.status);
      }
      // A removed server sends no last status, so compare the names after each pass.
      if (event.type === 'reconciled') refresh().catch(() => undefined);
      view.event(event);
    });
  } finally {
    view.end();
  }
}
