import { defined } from '../../domain/data/defined.ts';
import type { ServerStatus, ServerUsage, TroupeSnapshot } from '../../domain/host/status.ts';
import { usageError } from '../../domain/user-errors.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import type { ControlClient } from '../control/control-client.ts';
import { findRunning, type RunningTroupe, withRunning } from '../control/running-troupe.ts';
import { runningOrStarted } from '../run/with-troupe.ts';
import { clientLines, usersText } from '../show/client-lines.ts';
import { sinceText } from '../show/durations.ts';
import type { Output } from '../show/output.ts';
import {
  byConcern,
  needsAttention,
  problemLines,
  statusDetails,
  statusLines,
  summaryText,
  withShortPlaces,
} from '../show/status-lines.ts';
import { columnsOf, wrapText } from '../show/table.ts';

interface StatusFlags {
  readonly watch?: true;
  readonly problems?: true;
  /** With a server's name. */
  readonly details?: true;
}

/** `status`: a table of all servers, or everything about one. */
export const statusCommand: CommandDefinition<StatusFlags> = {
  usage: 'status [server]',
  aliases: ['list', 'ls', 'ps'],
  summary: 'show the state of all servers of the running troupe, or everything about one',
  details:
    'Servers that need attention come first when the table does not fit the window. --problems shows only those, ' +
    'in this order: failed, suspended, authRequired, blocked, degraded (or up, but refusing calls), backingOff.',
  example: 'troupe status db\n  troupe status --problems',
  options: [
    flag('--watch', 'keep showing it until Ctrl-C'),
    flag('--problems', 'show only servers that need attention'),
    flag('--details', 'with a server: also show its last error while it works, era and generation'),
  ],
  async run(session, [server], { watch = false, problems = false, details = false }) {
    const { launch, output } = session;
    if (problems && server !== undefined) {
      throw usageError('--problems chooses the servers; leave out the name');
    }
    if (watch && launch.json) {
      throw usageError('--watch prints many statuses and --json only one; use one of them');
    }
    const use = async (client: ControlClient): Promise<number> => {
      const snapshot = await client.request('status', defined({ server }));
      const isShown = (status: ServerStatus): boolean =>
        server === undefined ? !problems || needsAttention(status) : status.name === server;
      if (watch) {
        const { watchStatus } = await import('../run/watch-status.ts');
        return watchStatus(session, client, snapshot, isShown);
      }
      const chosen = problems ? byConcern(snapshot.servers).filter(isShown) : snapshot.servers;
      // Reading the process list is slow, so only `--json` and the view of one server do it.
      const usage = launch.json || server !== undefined ? await usageOf(client, server) : noUsage;
      output.document({ ...snapshot, servers: withUsage(chosen, usage) });
      if (server === undefined)
        output.lines(overview(snapshot, withShortPlaces(chosen, launch.projectRoot), output));
      else
        output.lines(
          withUsage(chosen, usage).flatMap((each) =>
            statusDetails(
              { ...each, ...defined({ usedBy: usersText(snapshot.troupe.clients, each.name) }) },
              Date.now(),
              output.width,
              details,
            ),
          ),
        );
      return 0;
    };
    return withRunning(launch, use, () => statusSource(session));
  },
};

/** With `--alone`, only a troupe that runs already has a status. */
function statusSource(session: CliSession): Promise<RunningTroupe | undefined> {
  return session.launch.alone ? findRunning(session.launch) : runningOrStarted(session);
}

const noUsage: readonly ServerUsage[] = [];

/** Empty if the troupe is of an older version, which does not know. */
async function usageOf(
  client: ControlClient,
  server: string | undefined,
): Promise<readonly ServerUsage[]> {
  const asked = client.request('usage', defined({ server }));
  return asked.then(
    ({ usage }) => usage,
    () => noUsage,
  );
}

function withUsage(
  servers: readonly ServerStatus[],
  all: readonly ServerUsage[],
): readonly (ServerStatus & { readonly usage?: Omit<ServerUsage, 'server'> })[] {
  const byServer = new Map(all.map(({ server, ...usage }) => [server, usage]));
  return servers.map((status) => ({ ...status, ...defined({ usage: byServer.get(status.name) }) }));
}

/** The table with a summary above it, and also below when it is longer than the window. */
function overview(
  { troupe, servers }: TroupeSnapshot,
  chosen: readonly ServerStatus[],
  output: Output,
): readonly string[] {
  const now = Date.now();
  const summary = summaryText(servers);
  const since = `troupe ${troupe.state}, pid ${troupe.pid}, since ${sinceText(troupe.since, now)}`;
  const whole = summary === '' ? since : `${since} (${summary})`;
  const head =
    columnsOf(whole) <= output.width ? [whole] : [since, ...wrapText(summary, output.width)];
  const problems = problemLines(troupe.problems).map((line) => output.paint('red', line));
  if (chosen.length === 0 && servers.length > 0)
    return [...head, 'no server needs attention', ...problems];
  const tableOf = (shown: readonly ServerStatus[]) =>
    statusLines(shown, now, output.width, output.paint);
  const clients = clientLines(troupe.clients, now, output.width, output.paint);
  const lines = [...head, ...tableOf(chosen), ...problems, ...clients];
  // The shell's prompt takes a line as well.
  if (!output.interactive || lines.length < output.height) return lines;
  const sorted = tableOf(byConcern(chosen));
  return [...head, ...sorted, ...problems, ...clients, ...wrapText(summary, output.width)];
}
