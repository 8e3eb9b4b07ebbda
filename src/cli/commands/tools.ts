import type { ExposedTool } from '../../domain/tool.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { printableLine } from '../../policies/text/printable.ts';
import { indexTools, searchTools } from '../../policies/tools/search.ts';
import { unknownAllowed } from '../allowed-names.ts';
import type { CliSession } from '../cli-session.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { listTools } from '../control/commands.ts';
import { findRunning, type RunningTroupe, withoutRunning } from '../control/running-troupe.ts';
import {
  isSettled,
  requireServer,
  settleTimeoutMs,
  unreadSettings,
  unusableError,
} from '../control/settled-servers.ts';
import { inProcess } from '../run/in-process-troupe.ts';
import { fitTable } from '../show/table.ts';

/** The answer may take as long as the servers, plus a moment for the socket. */
const extraMs = 2_000;

/** `tools`: lists the tools that can be called. */
export const toolsCommand: CommandDefinition = {
  usage: 'tools [server]',
  summary: 'list the tools of all servers or of one',
  details:
    'Uses the running troupe. Without one, it starts the servers, lists their tools and stops them.',
  example: 'troupe tools db --config troupe.json',
  options: (command) =>
    command.option('--search <words>', 'only tools that match these words, best match first'),
  async run(session, [server], flags) {
    const wanted = wordsOf(flags['search']);
    const timeoutMs = session.launch.timeoutMs ?? settleTimeoutMs;
    const running = await findRunning(session.launch);
    try {
      if (running === undefined || running.differences.length > 0) {
        return await toolsInProcess(session, { server, timeoutMs, wanted }, running);
      }
      const args = server === undefined ? { timeoutMs } : { server, timeoutMs };
      const { tools } = await running.client.request('tools', args, timeoutMs + extraMs);
      showTools(session, found(tools, wanted));
      return 0;
    } finally {
      running?.client.close();
    }
  },
};

interface Wish {
  readonly server: string | undefined;
  readonly timeoutMs: number;
  readonly wanted: string | undefined;
}

// More would not be read.
const mostFound = 50;

function wordsOf(flag: unknown): string | undefined {
  if (flag === undefined) return undefined;
  if (typeof flag === 'string' && flag.trim() !== '') return flag;
  throw new TroupeError('USAGE', '--search needs at least one word, as in --search "create issue"');
}

function found(tools: readonly ExposedTool[], wanted: string | undefined): readonly ExposedTool[] {
  if (wanted === undefined) return tools;
  return searchTools(indexTools(tools), wanted, mostFound).map(({ tool }) => tool);
}

function toolsInProcess(
  session: CliSession,
  { server, timeoutMs, wanted }: Wish,
  running: RunningTroupe | undefined,
): Promise<number> {
  return inProcess(
    session,
    async (troupe, signal) => {
      if (server !== undefined) requireServer(troupe, server);
      const tools = await listTools(troupe, server, { timeoutMs, signal });
      const unread = unreadSettings(troupe);
      if (unread !== undefined && tools.length === 0) throw unread;
      if (unread !== undefined) session.output.note(unread.message);
      showTools(session, found(tools, wanted));
      for (const remark of unknownAllowed(session.launch, troupe.snapshot().servers)) {
        session.output.note(remark);
      }
      for (const status of troupe.snapshot().servers) {
        if (server !== undefined || status.tools > 0) continue;
        const next = `see troupe tools ${status.name}`;
        const error = unusableError(status);
        if (status.state === 'dormant')
          session.output.note(`${status.name} starts on demand; ${next}`);
        else if (!isSettled(status))
          session.output.note(`${status.name} is still ${status.state}; ${next}`);
        else if (error !== undefined) {
          session.output.note(withoutRunning(session.launch, running, error).message);
        }
      }
      return 0;
    },
    { running, server },
  );
}

function showTools({ output }: CliSession, tools: readonly ExposedTool[]): void {
  output.document({ tools });
  if (tools.length === 0) {
    output.lines(['no tools']);
    return;
  }
  const rows = tools.map((tool) => [
    { text: printableLine(tool.server, 100) },
    { text: printableLine(tool.tool, 200) },
    { text: tool.catalog === 'live' ? '' : tool.catalog },
    { text: printableLine(tool.description ?? tool.title ?? '', 200) },
  ]);
  const columns = [
    { title: 'SERVER', leastWidth: 8 },
    // Shown in full before the description, because calls need the name.
    { title: 'TOOL', keptWidth: 64, leastWidth: 12 },
    { title: '', leastWidth: 0, dropOrder: 0 },
    { title: 'DESCRIPTION', dropOrder: 1 },
  ];
  output.lines(fitTable({ columns, rows }, output.width, (title) => output.paint('bold', title)));
}
