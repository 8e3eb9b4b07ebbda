import type { ServerStatus } from '../../domain/host/status.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { defined } from '../../policies/defined.ts';
import { printableLine } from '../../policies/text/printable.ts';
import { indexTools, searchTools } from '../../policies/tools/search.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import {
  isSettled,
  settleTimeoutMs,
  unreadSettings,
  unusableError,
} from '../control/settled-servers.ts';
import { unknownAllowed } from '../launch.ts';
import { type UsedTroupe, withTroupe } from '../run/with-troupe.ts';
import { fitTable } from '../show/table.ts';

/** The answer may take as long as the servers, plus a moment for the socket. */
const extraMs = 2_000;

// More would not be read.
const mostFound = 50;

/** `tools`: lists the tools that can be called. */
export const toolsCommand: CommandDefinition<{ readonly search?: string }> = {
  usage: 'tools [server]',
  summary: 'list the tools of all servers or of one',
  details:
    'Uses the running troupe. Without one, it starts the servers, lists their tools and stops them.',
  example: 'troupe tools db --config troupe.json',
  options: [flag('--search <words>', 'only tools that match these words, best match first')],
  async run(session, [server], { search }) {
    if (search?.trim() === '') {
      throw new TroupeError(
        'USAGE',
        '--search needs at least one word, as in --search "create issue"',
      );
    }
    const timeoutMs = session.launch.timeoutMs ?? settleTimeoutMs;
    return withTroupe(session, server, async (troupe) => {
      const args = defined({ server, timeoutMs });
      const { tools } = await troupe.request('tools', args, timeoutMs + extraMs);
      const found =
        search === undefined
          ? tools
          : searchTools(indexTools(tools), search, mostFound).map(({ tool }) => tool);
      if (troupe.client !== undefined) showTools(session, found);
      else {
        const snapshot = await troupe.request('status', {});
        const unread = unreadSettings(snapshot);
        if (unread !== undefined && tools.length === 0) throw unread;
        if (unread !== undefined) session.output.note(unread.message);
        showTools(session, found);
        for (const note of unknownAllowed(session.launch, snapshot.servers))
          session.output.note(note);
        if (server === undefined) noteToolless(session, snapshot.servers, troupe);
      }
      return 0;
    });
  },
};

/** Notes why a server of a one-off troupe has no tools. */
function noteToolless(
  { output }: CliSession,
  servers: readonly ServerStatus[],
  { explained }: UsedTroupe,
): void {
  for (const status of servers.filter(({ tools }) => tools === 0)) {
    const next = `see troupe tools ${status.name}`;
    const error = unusableError(status);
    if (status.state === 'dormant') output.note(`${status.name} starts on demand; ${next}`);
    else if (!isSettled(status)) output.note(`${status.name} is still ${status.state}; ${next}`);
    else if (error !== undefined) output.note(explained(error).message);
  }
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
