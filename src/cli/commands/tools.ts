import type { ExposedTool } from '../../domain/tool.ts';
import { usageError } from '../../domain/user-errors.ts';
import { printableLine } from '../../policies/text/printable.ts';
import { quotedFor } from '../../policies/text/quoted.ts';
import { indexTools, searchTools } from '../../policies/tools/search.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import { type AdHocFlags, adHocDetails, adHocFlags } from '../run/ad-hoc.ts';
import { listedTool, listedTools, usedTool } from '../run/used-tool.ts';
import { withTroupe } from '../run/with-troupe.ts';
import { fitTable } from '../show/table.ts';
import { exampleWords, signatureLines, toolDetails } from '../show/tool-lines.ts';

// More would not be read.
const mostFound = 50;

/** `tools`: lists the tools that can be called, or shows everything about one. */
export const toolsCommand: CommandDefinition<AdHocFlags & { readonly search?: string }> = {
  usage: 'tools [server] [tool]',
  summary:
    "list the tools of all servers, the arguments of one server's tools, or all about one tool",
  details:
    'Uses the running troupe. Without one, it starts the servers, lists their tools and stops them. ' +
    `SERVER.TOOL works as one word, too, and troupe SERVER is short for troupe tools SERVER. ${adHocDetails}`,
  example: 'troupe tools db --config troupe.json',
  options: [
    flag('--search <words>', 'only tools that match these words, best match first'),
    ...adHocFlags,
  ],
  async run(session, words, flags) {
    const { search } = flags;
    if (search?.trim() === '') {
      throw usageError('--search needs at least one word, as in --search "create issue"');
    }
    const used = await usedTool(session, words, flags);
    const { server, tool, rest } = used;
    if (rest.length > 0) throw usageError('too many arguments; see troupe help tools');
    if (tool !== undefined && search !== undefined)
      throw usageError('--search finds tools; leave out the tool or --search');
    return withTroupe(session, used.target, async (troupe) => {
      if (server !== undefined && tool !== undefined) {
        const { timeoutMs } = used;
        showTool(
          session,
          await listedTool(session.launch, troupe, { server, timeoutMs }, tool),
          used.shown,
        );
        return 0;
      }
      const tools = await listedTools(troupe, used);
      const found =
        search === undefined
          ? tools
          : searchTools(indexTools(tools), search, mostFound).map(({ tool: match }) => match);
      const show = server === undefined ? showTools : showSignatures;
      if (troupe.client !== undefined) {
        show(session, found);
        if (tools.length === 0 && server === undefined)
          session.output.note('no ready server offers a tool; see troupe status');
      } else {
        const { notesOfRun } = await import('../run/one-off-tools.ts');
        const snapshot = await troupe.request('status', {});
        const { before, after } = notesOfRun(session.launch, snapshot, troupe, { tools, server });
        for (const note of before) session.output.note(note);
        show(session, found);
        for (const note of after) session.output.note(note);
      }
      return 0;
    });
  },
};

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

function showSignatures({ output }: CliSession, tools: readonly ExposedTool[]): void {
  output.document({ tools });
  if (tools.length === 0) output.lines(['no tools']);
  output.lines(signatureLines(tools, output.width, output.paint));
}

function showTool({ output }: CliSession, tool: ExposedTool, shown: string): void {
  output.document({ tools: [tool] });
  const name = quotedFor('shell', printableLine(tool.tool, 200));
  const example = `troupe call ${shown} ${name} ${exampleWords(tool)}`.trimEnd();
  output.lines(toolDetails(tool, output.width, example));
}
