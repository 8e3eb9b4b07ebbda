import type { CallRecord } from '../../domain/call-record.ts';
import { printableLine } from '../../domain/data/printable.ts';
import { usageError } from '../../domain/user-errors.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import { parseLineCount, parseSince, parseText } from '../flag-values.ts';
import { counted } from '../show/counted.ts';
import { lengthText } from '../show/durations.ts';
import { fitTable } from '../show/table.ts';

interface LedgerFlags {
  readonly client?: string;
  readonly server?: string;
  readonly since?: number;
  readonly lines?: number;
  readonly all?: true;
}

// A few screens.
const defaultLines = 100;
const longestName = 100;

/** `ledger`: the calls that were made, and how they ended. */
export const ledgerCommand: CommandDefinition<LedgerFlags> = {
  usage: 'ledger',
  summary: 'list the recorded calls of this project, and how each one ended',
  details:
    'Calls are recorded once "ledger": true is in "mcp" of your own settings. Needs no running troupe. A call is listed once it has ended. ' +
    'Prints the last calls; with --since, all calls since then.',
  example: 'troupe ledger --since 1h --server db\n  troupe ledger --since 2026-11-30 --json',
  options: [
    flag('--client <name>', 'only calls of this client or user', parseText),
    flag('--server <name>', 'only calls to this server', parseText),
    flag('--since <time>', 'only calls begun since: 90s, 30m, 2h, 7d or an ISO time', parseSince),
    flag(
      '--lines <count>',
      `how many of the last calls (default: ${defaultLines}, or all with --since)`,
      parseLineCount,
    ),
    flag('--all', 'calls of all projects that use this state folder'),
  ],
  async run(session, _args, flags) {
    const { calls, unreadable } = await read(session, flags);
    const { output, launch } = session;
    output.document({ calls, unreadable });
    if (calls.length > 0) output.lines(linesOf(session, calls));
    else
      output.lines([
        'no such call is recorded; calls are recorded with "mcp": { "ledger": true } in your own settings',
      ]);
    if (unreadable > 0)
      output.note(
        `${counted(unreadable, 'line')} of the ledger in ${launch.stateFolder} cannot be read`,
      );
  },
};

/** Reads the records that the flags ask for, oldest first, and counts the lines that are none. */
async function read(
  { launch }: CliSession,
  { client, server, since, lines, all }: LedgerFlags,
): Promise<{ readonly calls: readonly CallRecord[]; readonly unreadable: number }> {
  // Loaded late: it is slow to load, and no other command needs it.
  const { readLedger, ledgerFile } = await import('../../../actors/stores/ledger.ts');
  const most = lines ?? (since === undefined ? defaultLines : Number.POSITIVE_INFINITY);
  const calls: CallRecord[] = [];
  let unreadable = 0;
  const isAskedFor = (record: CallRecord): boolean =>
    (all === true || record.project === launch.projectRoot) &&
    (client === undefined || [record.client, record.user].includes(client)) &&
    (server === undefined || record.server === server) &&
    (since === undefined || Date.parse(record.time) >= since);
  try {
    for await (const record of readLedger(launch.stateFolder)) {
      if (record === undefined) unreadable += 1;
      else if (isAskedFor(record)) calls.push(record);
      if (calls.length > most) calls.shift();
    }
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw usageError(
      `cannot read ${ledgerFile(launch.stateFolder)} (${code}); let this user read it, or move it away`,
    );
  }
  return { calls, unreadable };
}

function linesOf({ output }: CliSession, calls: readonly CallRecord[]): readonly string[] {
  const rows = calls.map(({ time, server, tool, method, durationMs, ...call }) => {
    const { argumentsBytes, resultBytes } = call;
    const result = resultOf(call);
    const paint = result === 'ok' ? undefined : (text: string) => output.paint('red', text);
    return [
      { text: time },
      { text: callerText(call) },
      { text: printableLine(server, longestName) },
      { text: printableLine(tool ?? method, longestName) },
      { text: result, ...(paint && { paint }) },
      { text: lengthText(durationMs) },
      { text: String(argumentsBytes) },
      { text: String(resultBytes ?? '') },
    ];
  });
  const columns = [
    { title: 'TIME', keptWidth: 24 },
    { title: 'CLIENT', leastWidth: 6, dropOrder: 2 },
    { title: 'SERVER', leastWidth: 8 },
    { title: 'CALL', keptWidth: 30, leastWidth: 12 },
    { title: 'RESULT', keptWidth: 20 },
    { title: 'TOOK', align: 'right' },
    { title: 'SENT', align: 'right', dropOrder: 0 },
    { title: 'RECEIVED', align: 'right', dropOrder: 1 },
  ] as const;
  return fitTable({ columns, rows }, output.width, (title) => output.paint('bold', title));
}

function callerText({ client, user }: Pick<CallRecord, 'client' | 'user'>): string {
  return printableLine(user === undefined ? client : `${user} (${client})`, longestName);
}

/** `ok`, `tool error`, or the code and what is known of the outcome. */
function resultOf({ code, outcome, isError }: Pick<CallRecord, 'code' | 'outcome' | 'isError'>) {
  if (code !== undefined)
    return `${printableLine(code, longestName)}, ${outcome.replace('_', ' ')}`;
  if (isError === true) return 'tool error';
  return outcome === 'executed' ? 'ok' : 'question';
}
