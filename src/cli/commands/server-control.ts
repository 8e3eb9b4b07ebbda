import { exitCodeFor } from '../../domain/caller-code.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import type { ServerState } from '../../domain/server-state.ts';
import { usageError } from '../../domain/user-errors.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import type { ControlClient } from '../control/control-client.ts';
import { errorDocumentOf } from '../control/error-document.ts';
import { settleTimeoutMs } from '../control/protocol.ts';
import { askRunning, withRunning } from '../control/running-troupe.ts';
import type { Output } from '../show/output.ts';
import { showStartProgress } from '../show/start-progress.ts';
import { problemLines, statusLine } from '../show/status-lines.ts';

type Wish = 'start' | 'stop' | 'restart' | 'refresh';

const summaries: Readonly<Record<Wish, string>> = {
  start: 'start a server that was stopped or gave up, and wait until it is ready',
  stop: 'stop a server; it stays stopped until it is started again',
  restart: 'stop and start a server with fresh retry budgets, and wait until it is ready',
  refresh: "list a ready server's tools, resources and prompts again, in its session",
};

/** The answer may take as long as the server, plus a moment for the socket. */
const extraMs = 2_000;

/** Half of the requests that the troupe accepts at once. */
const restartsAtOnce = 32;

/** `start`, `stop`, `refresh`, `restart` and `reload`. */
export const serverCommands: readonly CommandDefinition[] = [
  ...(['start', 'stop', 'refresh'] as const).map(
    (wish): CommandDefinition => ({
      usage: `${wish} <server>`,
      summary: summaries[wish],
      example: `troupe ${wish} db`,
      run: (session, [server = '']) => applyWish(session, wish, server),
    }),
  ),
  {
    usage: 'restart [server]',
    summary: summaries.restart,
    details:
      '--all restarts every server except those that are disabled, blocked, stopped or not started yet. The exit code is that of the first server that did not become ready.',
    example: 'troupe restart db',
    options: [flag('--all', 'restart all servers')],
    async run(session, [server], { all }: { readonly all?: true }) {
      if ((server === undefined) === (all === undefined))
        throw usageError('name one server to restart, or use --all');
      return server === undefined ? restartAll(session) : applyWish(session, 'restart', server);
    },
  },
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

async function applyWish(
  { launch, output }: CliSession,
  wish: Wish,
  server: string,
): Promise<void> {
  const timeoutMs = launch.timeoutMs ?? settleTimeoutMs;
  const { status } = await withRunning(launch, async (client) => {
    const isStart = wish === 'start' || wish === 'restart';
    const endProgress = isStart ? followStart(output, client, [server]) : undefined;
    try {
      return await client.request(wish, { server, timeoutMs }, timeoutMs + extraMs);
    } finally {
      endProgress?.();
    }
  });
  output.document({ status });
  output.lines([statusLine(status, Date.now())]);
  if (wish === 'stop') output.lines(stopLater(status));
}

const notRestarted: ReadonlySet<ServerState> = new Set([
  'disabled',
  'blocked',
  'stopped',
  'dormant',
]);

/** Restarts all servers. One that fails is in its status line, and does not hide the others. */
async function restartAll({ launch, output }: CliSession): Promise<number> {
  const timeoutMs = launch.timeoutMs ?? settleTimeoutMs;
  return withRunning(launch, async (client) => {
    const { servers: before } = await client.request('status', {});
    const names = before.flatMap(({ name, state }) => (notRestarted.has(state) ? [] : name));
    const endProgress = followStart(output, client, names);
    const results: PromiseSettledResult<unknown>[] = [];
    for (let at = 0; at < names.length; at += restartsAtOnce) {
      const requests = names
        .slice(at, at + restartsAtOnce)
        .map((server) => client.request('restart', { server, timeoutMs }, timeoutMs + extraMs));
      results.push(...(await Promise.allSettled(requests)));
    }
    endProgress();
    const after = await client.request('status', {});
    const servers = after.servers.filter(({ name }) => names.includes(name));
    output.document({ servers });
    output.lines(servers.map((status) => statusLine(status, Date.now())));
    if (names.length === 0) output.lines(['no servers to restart']);
    const failed = results.find((result) => result.status === 'rejected');
    return failed === undefined ? 0 : exitCodeFor(errorDocumentOf(failed.reason));
  });
}

/** Shows progress from the running troupe's events; returns how to end it. */
function followStart(output: Output, client: ControlClient, names: readonly string[]): () => void {
  const latest = new Map<string, ServerStatus>();
  return showStartProgress(output, {
    servers: () => [...latest.values()],
    onChange(listener) {
      const follow = client.follow(['status.changed'], (event) => {
        if (event.type !== 'status.changed' || !names.includes(event.status.name)) return;
        latest.set(event.status.name, event.status);
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
