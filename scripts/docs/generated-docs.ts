/** Which documents are generated, whole or in blocks, and what belongs into them. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeTable, failureKindTable, outcomeTable } from './code-tables.ts';
import { commandTable } from './command-table.ts';
import { hostEventTable, methodOverview, methodTable, troupeEventTable } from './library-tables.ts';
import { fenced, withBlock } from './markdown.ts';
import { fieldTable, presetTable } from './policy-tables.ts';
import { settingsSchema, settingsSchemaPath } from './settings-schema.ts';
import { mcpKeyTable, serverKeyTable } from './settings-tables.ts';
import {
  catalogTable,
  circuitTable,
  reasonTable,
  stateOverview,
  stateTable,
} from './state-tables.ts';

/** A file that is generated whole, or a document and its blocks by name. `root` is the folder of the repository. */
type GeneratedDoc = { readonly path: string } & (
  | { readonly whole: () => string }
  | { readonly blocks: (root: string) => Promise<Readonly<Record<string, string>>> }
);

const generatedDocs: readonly GeneratedDoc[] = [
  {
    path: 'README.md',
    blocks: async (root) => ({
      embedding: fenced('ts', await readFile(join(root, 'examples/embedding.ts'), 'utf8')),
      states: stateOverview(),
      methods: methodOverview(),
    }),
  },
  {
    path: 'docs/commands.md',
    blocks: async () => ({ commands: commandTable() }),
  },
  {
    path: 'docs/states.md',
    blocks: async () => ({
      states: stateTable(),
      reasons: reasonTable(),
      catalog: catalogTable(),
      circuit: circuitTable(),
    }),
  },
  {
    path: 'docs/codes.md',
    blocks: async (root) => ({
      codes: await codeTable(root),
      outcomes: outcomeTable(),
      failures: failureKindTable(),
    }),
  },
  {
    path: 'docs/settings.md',
    blocks: async () => ({
      servers: serverKeyTable(),
      mcp: mcpKeyTable(),
    }),
  },
  {
    path: 'docs/policies.md',
    blocks: async () => ({ presets: presetTable(), fields: fieldTable() }),
  },
  {
    path: 'docs/library.md',
    blocks: async () => ({
      methods: methodTable(),
      events: troupeEventTable(),
      sends: hostEventTable(),
    }),
  },
  { path: settingsSchemaPath, whole: settingsSchema },
];

/** Names the documents whose generated blocks differ from the source. */
export async function staleDocs(root: string): Promise<readonly string[]> {
  const stale = await Promise.all(
    generatedDocs.map(async (doc) => {
      const { current, updated } = await renewed(root, doc);
      return current === updated ? [] : [doc.path];
    }),
  );
  return stale.flat();
}

/** Brings all generated blocks up to date and names the documents that it changed. */
export async function writeDocs(root: string): Promise<readonly string[]> {
  const written: string[] = [];
  for (const doc of generatedDocs) {
    const { current, updated } = await renewed(root, doc);
    if (current === updated) continue;
    await writeFile(join(root, doc.path), updated);
    written.push(doc.path);
  }
  return written;
}

async function renewed(
  root: string,
  doc: GeneratedDoc,
): Promise<{ readonly current: string; readonly updated: string }> {
  const current = await readFile(join(root, doc.path), 'utf8');
  if ('whole' in doc) return { current, updated: doc.whole() };
  const updated = Object.entries(await doc.blocks(root)).reduce(
    (document, [name, content]) => withBlock(document, name, content),
    current,
  );
  return { current, updated };
}
