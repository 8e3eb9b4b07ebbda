import type { ServerLogLine } from '../../domain/server-log.ts';
import { printableLine } from '../../policies/text/printable.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import type { ControlClient } from '../control/client.ts';
import { askRunning, withRunning } from '../control/running-troupe.ts';
import { parseLineCount } from '../flag-values.ts';
import { followEvents, printingLines } from '../run/follow-events.ts';

/** A few screens; a whole log has at most 1,700 lines. */
const defaultLines = 100;

/** `logs`: what a server wrote, and what happened to it. */
export const logsCommand: CommandDefinition<{ readonly lines?: number; readonly follow?: true }> = {
  usage: 'logs <server>',
  summary: 'print what a server last wrote to stderr, and what happened to it',
  details:
    'Each line shows its time, session number and origin: stderr, ' +
    'stdout (anything that is not MCP) or the troupe. The log of a removed server is kept for a while. ' +
    'With --json, all lines are one document; with --json --follow, each line is a document.',
  example: 'troupe logs db --lines 20\n  troupe logs db --follow',
  options: [
    flag(
      '--lines <count>',
      `how many of the last lines to print (default: ${defaultLines})`,
      parseLineCount,
    ),
    flag('--follow', 'keep printing new lines until Ctrl-C'),
  ],
  async run(session, [server = ''], { lines = defaultLines, follow: isFollowed }) {
    const { launch, output } = session;
    if (isFollowed !== true) {
      const log = await askRunning(launch, 'logs', { server, lines });
      output.document(log);
      output.lines(log.lines.map(logLine));
      return 0;
    }
    return printingLines(session, () =>
      withRunning(launch, (client) => follow(session, client, server, lines)),
    );
  },
};

/**
 * Prints the existing lines, then new ones. It subscribes first, so no line is missed in between; line
 * numbers prevent printing one twice.
 */
async function follow(
  { host, output }: CliSession,
  client: ControlClient,
  server: string,
  lines: number,
): Promise<number> {
  // An unknown server must fail here instead of waiting forever.
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
  // Nothing can be printed without these lines; `following` reports why the connection ended.
  opening.catch(() => client.close());
  return following;
}

// The maximum length of a log line.
const longestLine = 2_000;

/** Time, session and stream precede every line, so a server cannot fake a line of another stream. */
export function logLine({ at, session, stream, line }: ServerLogLine): string {
  return `${at} #${session} ${stream.padEnd(6)} | ${printableLine(line, longestLine)}`;
}
