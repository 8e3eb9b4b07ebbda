import type { DefineCommand } from '../command-definition.ts';
import { withRunning } from '../running-troupe.ts';
import { settleTimeoutMs } from '../settled-servers.ts';
import { problemLines, statusLine } from '../status-log.ts';

type Wish = 'start' | 'stop' | 'restart';

const summaries: Readonly<Record<Wish, string>> = {
  start: 'start a server that is stopped or has given up, and wait until it is ready',
  stop: 'stop a server; it stays stopped until it is started again',
  restart: 'end a server and start it anew with fresh budgets, and wait until it is ready',
};

/** The answer may take as long as the server, and a moment for the way. */
const extraMs = 2_000;

/** Defines `start`, `stop`, `restart` and `reload`: what a person wants of the running troupe. */
export function defineServerCommands(define: DefineCommand): void {
  for (const wish of ['start', 'stop', 'restart'] as const) {
    define({
      usage: `${wish} <server>`,
      summary: summaries[wish],
      example: `troupe ${wish} db`,
      async run({ launch, output }, [server = '']) {
        const timeoutMs = launch.timeoutMs ?? settleTimeoutMs;
        const { status } = await withRunning(launch, (client) =>
          client.request(wish, { server, timeoutMs }, timeoutMs + extraMs),
        );
        output.document({ status });
        output.lines([statusLine(status, Date.now())]);
        return 0;
      },
    });
  }
  define({
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
  });
}
