import { exitCodeFor } from '../../domain/caller-code.ts';
import type { ServerLogLine } from '../../domain/server-log.ts';
import type { CliSession } from '../cli-session.ts';
import type { CommandDefinition } from '../command-definition.ts';
import type { ControlClient } from '../control/client.ts';
import { errorDocumentOf } from '../control/error-document.ts';
import { withRunning } from '../control/running-troupe.ts';
import { once, parseLineCount } from '../flag-values.ts';
import { followEvents } from '../run/follow-events.ts';
import { logLine } from '../show/log-lines.ts';

/** Some screens; the whole log has at most 1,700 lines. */
const usualLines = 100;

/** Defines `logs`: what a server wrote, and what became of it. */
export const logsCommand: CommandDefinition = {
  usage: 'logs <server>',
  summary: 'print the last lines that a server wrote to stderr, and what became of it',
  details:
    'Every line has its time, the number of its session, and where it comes from: stderr, ' +
    'stdout (what is no MCP), or the troupe. The log of a removed server is kept for a while. ' +
    'With --json, all lines are one document; with --follow as well, one document per line.',
  example: 'troupe logs db --lines 20\n  troupe logs db --follow',
  options: (command) =>
    command
      .option(
        '--lines <count>',
        `how many lines, the last ones (default: ${usualLines})`,
        once(parseLineCount),
      )
      .option('--follow', 'go on with new lines until Ctrl-C'),
  async run(session, [server = ''], flags) {
    const { launch, output } = session;
    const lines = (flags['lines'] as number | undefined) ?? usualLines;
    if (flags['follow'] !== true) {
      return withRunning(launch, async (client) => {
        const log = await client.request('logs', { server, lines });
        output.document(log);
        output.lines(log.lines.map(logLine));
        return 0;
      });
    }
    try {
      return await withRunning(launch, (client) => follow(session, client, server, lines));
    } catch (error) {
      if (!launch.json) throw error;
      // In one line as well: whoever reads the stream reads it line by line.
      const document = errorDocumentOf(error);
      output.documentLine({ error: document });
      return exitCodeFor(document);
    }
  },
};

/**
 * Prints what there is and then what comes. The subscription begins first, so
 * nothing falls between the two; the numbers of the lines keep any from coming twice.
 */
async function follow(
  { host, output }: CliSession,
  client: ControlClient,
  server: string,
  lines: number,
): Promise<number> {
  // Asked once before, so that an unknown name is an error and not an endless wait.
  await client.request('logs', { server, lines: 1 });
  let shown: number | undefined;
  const early: ServerLogLine[] = [];
  const print = (line: ServerLogLine): void => {
    if (shown === undefined) early.push(line);
    if (shown === undefined || line.number <= shown) return;
    shown = line.number;
    const { number, at, session, stream, line: text } = line;
    if (output.json) output.documentLine({ server, number, at, session, stream, line: text });
    else output.lines([logLine(line)]);
  };
  const following = followEvents(host, client, ['server.log'], (event) => {
    if (event.type === 'server.log' && event.server === server) print(event);
  });
  const opening = client.request('logs', { server, lines }).then((log) => {
    shown = 0;
    for (const line of [...log.lines, ...early]) print(line);
  });
  // Without the opening lines nothing would ever be printed. `following` reports how the connection ended.
  opening.catch(() => client.close());
  return following;
}
