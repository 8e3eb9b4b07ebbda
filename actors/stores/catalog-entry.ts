/**
 * The text of one stored catalog: written by us, but read with as little trust as a server's
 * message. A text of another version is ignored; one that is not a complete entry of this version
 * is damaged.
 */

import { createHash } from 'node:crypto';

import type { Catalog } from '../../src/domain/catalog.ts';
import { isRecord } from '../../src/policies/is-record.ts';
import type { ListKind } from '../session/catalog/list.ts';
import { promptKind, resourceKind, templateKind } from '../session/catalog/offers.ts';
import { toolKind } from '../session/catalog/tool.ts';
import type { EraVerdict } from '../session/ports.ts';

// Changes with the meaning of the fields.
const entryVersion = 1;
const instructionsCharacters = 16_384;

/** The catalog's server. Servers may share a generation and still list different tools. */
export interface CatalogOwner {
  readonly server: string;
  readonly generation: string;
}

export interface CatalogEntry extends CatalogOwner {
  /** Wall time in milliseconds. */
  readonly listedAt: number;
  /** Without any list when only the era is known. */
  readonly catalog: Catalog;
  /** Which era the server was found to speak, and when. */
  readonly era?: { readonly verdict: EraVerdict; readonly at: number };
}

export interface WrittenEntry {
  readonly text: string;
  /** Equal for equal contents, whenever they were listed. */
  readonly digest: string;
}

export function writeEntry({ server, generation, listedAt, catalog, era }: CatalogEntry) {
  const { tools, resources, resourceTemplates, prompts, instructions, completions } = catalog;
  // In a fixed order, so that equal catalogs have one digest.
  const content = JSON.stringify({
    tools,
    resources,
    resourceTemplates,
    prompts,
    instructions,
    completions,
  });
  const digest = digestOf(content);
  const head = { version: entryVersion, server, generation, listedAt, digest, ...(era && { era }) };
  // The content is written once: it may be megabytes.
  const text = `${JSON.stringify(head).slice(0, -1)},"catalog":${content}}\n`;
  return { text, digest: digestOf(`${digest} ${JSON.stringify(era)}`) } satisfies WrittenEntry;
}

/** The name of the file of an owner, without its ending. */
export function entryName({ server, generation }: CatalogOwner): string {
  return createHash('sha256')
    .update(JSON.stringify([server, generation]))
    .digest('hex')
    .slice(0, 32);
}

/** Undefined for a text of another version; the reason for a damaged one. */
export function readEntry(text: string, owner: CatalogOwner): CatalogEntry | string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not JSON';
  }
  if (!isRecord(value)) return 'it is not an object';
  if (value['version'] !== entryVersion) return undefined;
  const { server, generation, listedAt, digest, catalog, era } = value;
  if (server !== owner.server || generation !== owner.generation)
    return 'it belongs to another server';
  if (typeof listedAt !== 'number' || !isRecord(catalog)) return 'parts of it are missing';
  try {
    if (digestOf(JSON.stringify(catalog)) !== digest)
      return 'its content does not match its digest';
    JSON.stringify(era);
  } catch {
    // JSON of any depth can be parsed, but not written.
    return 'it is nested too deeply';
  }
  const dated = era === undefined ? undefined : readEra(era);
  return {
    server: owner.server,
    generation: owner.generation,
    listedAt,
    catalog: readCatalog(catalog),
    ...(dated !== undefined && { era: dated }),
  };
}

/** Leaves out items that we would not accept from a server. */
function readCatalog(value: Record<string, unknown>): Catalog {
  const { instructions } = value;
  const list = <Item>({ field, read }: ListKind<Item>): readonly Item[] => {
    const items = value[field];
    if (!Array.isArray(items)) return [];
    return items.flatMap((item: unknown) => {
      const known = read(item);
      return typeof known === 'string' ? [] : [known.item];
    });
  };
  return {
    tools: list(toolKind),
    resources: list(resourceKind),
    resourceTemplates: list(templateKind),
    prompts: list(promptKind),
    ...(typeof instructions === 'string' &&
      instructions.length <= instructionsCharacters && { instructions }),
    completions: value['completions'] === true,
  };
}

function readEra(value: unknown): CatalogEntry['era'] {
  if (!isRecord(value) || typeof value['at'] !== 'number') return undefined;
  const { verdict, at } = value;
  if (!isRecord(verdict)) return undefined;
  if (verdict['kind'] === 'legacy') return { verdict: { kind: 'legacy' }, at };
  const isModern = verdict['kind'] === 'modern' && isRecord(verdict['discover']);
  // As the SDK gave it to us; the digest does not cover it, and a wrong one fails at the first
  // request.
  return isModern ? { verdict: verdict as unknown as EraVerdict, at } : undefined;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
