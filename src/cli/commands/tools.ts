import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { printableLine } from '../../domain/data/printable.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { usageError } from '../../domain/user-errors.ts';
import { quotedFor } from '../../policies/text/quoted.ts';
import { indexTools, searchTools } from '../../policies/tools/search.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import { settleTimeoutMs } from '../control/protocol.ts';
import { parseText } from '../flag-values.ts';
import { type AdHocFlags, adHocDetails, adHocFlags } from '../run/ad-hoc.ts';
import { listedTool, listedTools, usedTool } from '../run/used-tool.ts';
import { withTroupe } from '../run/with-troupe.ts';
import { counted } from '../show/counted.ts';
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

/** `types`: writes TypeScript declarations of the tools. */
export const typesCommand: CommandDefinition<{ readonly out?: string }> = {
  usage: 'types [server]',
  summary:
    'write the tools of all servers or of one as TypeScript types, for calls with the library',
  details:
    'Prints a module to import types from: the arguments and results of each tool, and TypedTroupe, a troupe whose calls are checked against them. ' +
    'Equal tools give equal text. Uses the running troupe; without one, it starts the servers, lists their tools and stops them.',
  example: 'troupe types --out src/troupe-tools.ts',
  options: [flag('--out <file>', 'write this file instead of printing', parseText)],
  async run(session, [server], { out }) {
    const { launch, output, host } = session;
    const timeoutMs = launch.timeoutMs ?? settleTimeoutMs;
    return withTroupe(session, server, async (troupe) => {
      const tools = await listedTools(troupe, { server, timeoutMs });
      const { servers } = await troupe.request('status', {});
      for (const { name, state, tools: count } of servers)
        if ((server ?? name) === name && count === 0)
          output.note(`${printableLine(name, 100)} is ${state} and lists no tools; it is left out`);
      const { toolTypes } = await import('../show/tool-types.ts');
      const text = toolTypes(tools);
      const file = out === undefined ? undefined : path.resolve(host.cwd, out);
      const { orRefusal } = await import('../settings/target.ts');
      if (file !== undefined) await orRefusal(file, () => writeFile(file, text));
      output.document({ tools: tools.length, ...(file === undefined ? { text } : { file }) });
      if (file === undefined) output.lines(text.trimEnd().split('\n'));
      else
        output.lines([
          `wrote the types of ${counted(tools.length, 'tool')} to ${printableLine(file, 500)}`,
        ]);
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
