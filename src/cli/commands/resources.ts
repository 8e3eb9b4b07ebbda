import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { defined } from '../../domain/data/defined.ts';
import { printableLine, printableText } from '../../domain/data/printable.ts';
import { usageError } from '../../domain/user-errors.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import type { ControlResults } from '../control/protocol.ts';
import { parseText } from '../flag-values.ts';
import { type AdHocFlags, adHocDetails, adHocFlags } from '../run/ad-hoc.ts';
import { requestMs, usedServer } from '../run/used-tool.ts';
import { withTroupe } from '../run/with-troupe.ts';
import { fitTable } from '../show/table.ts';
import { textOf } from '../show/tool-result-text.ts';

const longestName = 200;
/** The runtime's limit for a result; bounds the work here. */
const longestText = 16 * 1_048_576;

/** `resources`: lists resources and resource templates. */
const resourcesCommand: CommandDefinition<AdHocFlags> = {
  usage: 'resources [server]',
  summary: 'list the resources and resource templates of all servers or of one',
  details: `Uses the running troupe. Without one, it starts the servers, lists their resources and stops them. ${adHocDetails}`,
  example: 'troupe resources docs',
  options: adHocFlags,
  async run(session, words, flags) {
    const used = usedServer(session, words, flags);
    if (used.rest.length > 0) throw usageError('too many arguments; see troupe help resources');
    return withTroupe(session, used.target, async ({ request }) => {
      const { server, timeoutMs } = used;
      const asked = defined({ server, timeoutMs });
      const lists = await request('resources', asked, requestMs(timeoutMs));
      session.output.document(lists);
      session.output.lines(resourceLines(session, lists, server === undefined));
      return 0;
    });
  },
};

/** `read`: reads one resource. */
const readCommand: CommandDefinition<AdHocFlags & { readonly output?: string }> = {
  usage: 'read [server] [uri]',
  summary: 'read a resource and print it, or write it to a file',
  details: `Prints text; binary contents need --output at a terminal. Uses the running troupe. Without one, it starts only this server. ${adHocDetails}`,
  example: 'troupe read docs file:///guide.md',
  options: [
    flag('--output <file>', 'write the contents to this file, replacing it', parseText),
    ...adHocFlags,
  ],
  async run(session, words, flags) {
    const used = usedServer(session, words, flags);
    const { server, timeoutMs, rest, shown } = used;
    const [uri, ...more] = rest;
    if (server === undefined || uri === undefined || more.length > 0) {
      const list = server === undefined ? 'troupe resources' : `troupe resources ${shown}`;
      throw usageError(
        `write troupe read ${shown === '' ? 'SERVER' : shown} URI; ${list} lists the addresses`,
      );
    }
    return withTroupe(session, used.target, async ({ request }) => {
      // Lets the server start within its own time rather than within the request's.
      if (typeof used.target === 'object')
        await request('tools', { server, timeoutMs }, requestMs(timeoutMs));
      const args = { server, uri, timeoutMs };
      const report = await request('readResource', args, requestMs(timeoutMs));
      const parts = report.result.contents.map(partOf);
      if (flags.output !== undefined) {
        const file = path.resolve(session.host.cwd, flags.output);
        await writeParts(file, parts);
        session.output.note(`${bytesOf(parts).length} bytes written to ${file}`);
      } else if (!session.output.json) {
        printParts(session, parts);
      }
      session.output.document(report);
      return 0;
    });
  },
};

export const resourceCommands = [resourcesCommand, readCommand];

/** One part of a resource's contents; directories have several. */
interface Part {
  readonly uri: string;
  readonly type: string;
  readonly text?: string;
  readonly bytes: Buffer;
}

function partOf(content: Readonly<Record<string, unknown>>): Part {
  const { uri, mimeType, text, blob } = content;
  const head = { uri: textOf(uri), type: textOf(mimeType) };
  if (typeof text === 'string') return { ...head, text, bytes: Buffer.from(text) };
  return { ...head, bytes: Buffer.from(textOf(blob), 'base64') };
}

function printParts({ output }: CliSession, parts: readonly Part[]): void {
  const binary = parts.find(({ text }) => text === undefined);
  if (binary !== undefined && output.interactive) {
    const type = binary.type === '' ? 'binary' : binary.type;
    throw usageError(
      printableLine(
        `${binary.uri} is ${type}, ${binary.bytes.length} bytes; write it to a file with --output FILE`,
        1_000,
      ),
    );
  }
  // Exactly the contents for a pipe or a file; at a terminal nothing that steers it.
  if (!output.interactive) output.bytes(bytesOf(parts));
  else
    output.lines(parts.flatMap(({ text }) => printableText(text ?? '', longestText).split('\n')));
}

function bytesOf(parts: readonly Part[]): Buffer {
  return Buffer.concat(parts.map(({ bytes }) => bytes));
}

async function writeParts(file: string, parts: readonly Part[]): Promise<void> {
  try {
    await writeFile(file, bytesOf(parts));
  } catch (error) {
    throw usageError(
      `${file} cannot be written (${(error as NodeJS.ErrnoException).code}); pass another file to --output`,
    );
  }
}

function resourceLines(
  { output }: CliSession,
  { resources, resourceTemplates }: ControlResults['resources'],
  hasServers: boolean,
): readonly string[] {
  const all = [
    ...resources.map((each) => ({ ...each, address: each.uri })),
    ...resourceTemplates.map((each) => ({ ...each, address: each.uriTemplate })),
  ];
  if (all.length === 0) return ['no resources'];
  const rows = all.map(({ server, address, catalog, mimeType, name, title, description }) => [
    ...(hasServers ? [{ text: printableLine(server, 100) }] : []),
    { text: printableLine(address, 1_000) },
    { text: printableLine(mimeType ?? '', 100) },
    { text: catalog === 'live' ? '' : catalog },
    { text: printableLine(description ?? title ?? name, longestName) },
  ]);
  const columns = [
    ...(hasServers ? [{ title: 'SERVER', leastWidth: 8 }] : []),
    // Shown in full before the others, because reading needs it.
    { title: 'ADDRESS', keptWidth: 64, leastWidth: 16 },
    { title: 'TYPE', dropOrder: 1 },
    { title: '', leastWidth: 0, dropOrder: 0 },
    { title: 'DESCRIPTION', dropOrder: 2 },
  ];
  return fitTable({ columns, rows }, output.width, (title) => output.paint('bold', title));
}
