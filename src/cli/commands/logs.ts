import { type CommandDefinition, flag } from '../command.ts';
import { askRunning, withRunning } from '../control/running-troupe.ts';
import { parseLineCount } from '../flag-values.ts';
import { logLine } from '../show/log-line.ts';

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
    const { followLog } = await import('../run/follow-log.ts');
    return followLog(session, server, lines);
  },
};

/** `events`: what happens in the running troupe, for programs. */
export const eventsCommand: CommandDefinition = {
  usage: 'events',
  summary: 'print events of the running troupe, one JSON document per line, until Ctrl-C',
  details:
    'Every document has a type, such as status.changed, tools.changed or reconciled. ' +
    'A slow reader misses events; events.dropped then says how many.',
  example: 'troupe events | jq \'select(.type == "status.changed").status.state\'',
  async run(session) {
    const { followEvents, printingLines } = await import('../run/follow-events.ts');
    return printingLines(session, () =>
      withRunning(session.launch, (client) =>
        followEvents(session.host, client, undefined, (event) =>
          session.output.documentLine(event),
        ),
      ),
    );
  },
};
