/** The generated documents: blocks between markers, and the JSON Schema of settings. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type GeneratedFile, root } from '../generated-files.ts';
import { chartSections } from './chart-sections.ts';
import { codeTable, failureKindTable, outcomeTable } from './code-tables.ts';
import { commandTable } from './command-table.ts';
import { hostEventTable, methodOverview, methodTable, troupeEventTable } from './library-tables.ts';
import { fenced, withBlock } from './markdown.ts';
import { mcpKeyTable } from './mcp-tables.ts';
import { museumFolder, museumTable } from './museum-table.ts';
import { oauthKeyTable } from './oauth-tables.ts';
import { fieldTable, presetTable } from './policy-tables.ts';
import { protocolTable } from './protocol-table.ts';
import { settingsSchema, settingsSchemaPath } from './settings-schema.ts';
import { serverKeyTable } from './settings-tables.ts';
import {
  catalogTable,
  circuitTable,
  reasonTable,
  stateOverview,
  stateTable,
} from './state-tables.ts';

/** A document with generated blocks, by their names. */
function document(
  path: string,
  blocks: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>,
): GeneratedFile {
  return {
    path,
    update: async (current) =>
      Object.entries(await blocks()).reduce(
        (text, [name, content]) => withBlock(text, name, content),
        current,
      ),
  };
}

export const generatedDocs: readonly GeneratedFile[] = [
  document('README.md', async () => ({
    embedding: fenced('ts', await readFile(join(root, 'examples/embedding.ts'), 'utf8')),
    states: stateOverview(),
    methods: methodOverview(),
  })),
  document('docs/commands.md', () => ({ commands: commandTable() })),
  document('docs/states.md', () => ({
    states: stateTable(),
    reasons: reasonTable(),
    catalog: catalogTable(),
    circuit: circuitTable(),
  })),
  document('docs/charts.md', async () => ({ charts: await chartSections(root) })),
  document('docs/codes.md', async () => ({
    codes: await codeTable(root),
    outcomes: outcomeTable(),
    failures: failureKindTable(),
  })),
  document('docs/settings.md', () => ({
    servers: serverKeyTable(),
    oauth: oauthKeyTable(),
    mcp: mcpKeyTable(),
  })),
  document('docs/policies.md', () => ({ presets: presetTable(), fields: fieldTable() })),
  document('docs/library.md', () => ({
    methods: methodTable(),
    events: troupeEventTable(),
    sends: hostEventTable(),
  })),
  document('docs/decisions/protocol.md', () => ({ methods: protocolTable() })),
  document(`${museumFolder}/README.md`, async () => ({ exhibits: await museumTable(root) })),
  { path: settingsSchemaPath, update: settingsSchema },
];
