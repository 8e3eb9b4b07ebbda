/** Keeps printing a server's log: `troupe logs SERVER --follow`. */

import type { ServerLogLine } from '../../domain/server-log.ts';
import type { CliSession } from '../command.ts';
import type { ControlClient } from '../control/control-client.ts';
import { withRunning } from '../control/running-troupe.ts';
import { logLine } from '../show/log-line.ts';
import { followEvents, printingLines } from './follow-events.ts';

/** Resolves with the exit code. */
export function followLog(session: CliSession, server: string, lines: number): Promise<number> {
  return printingLines(session, () =>
    withRunning(session.launch, (client) => follow(session, client, server, lines)),
  );
}

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
