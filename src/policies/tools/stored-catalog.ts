/**
 * The text of a stored catalog. It is read with as little trust as a server's message.
 */

import { createHash } from 'node:crypto';
import { type Catalog, type SideLists, sideLists } from '../../domain/catalog.ts';
import { parseJson, writeJson } from '../../domain/data/exact-json.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import type { EraVerdict } from '../../domain/session.ts';
import { promptKind, resourceKind, templateKind, toolKind } from '../../protocol/items.ts';
import type { ListKind } from '../../protocol/lists.ts';
import { methods } from '../../protocol/methods.ts';
import { wireForm } from './announced.ts';

// Changes whenever the meaning of the fields does.
const entryVersion = 1;
const instructionsCharacters = 16_384;

/**
 * The server that the catalog belongs to. Servers may share a generation and still list different
 * tools.
 */
export interface CatalogOwner {
  readonly server: string;
  readonly generation: string;
}

export interface CatalogEntry extends CatalogOwner {
  /** Wall time in milliseconds. */
  readonly listedAt: number;
  /** The catalog; contains no list when only the era is known. */
  readonly catalog: Catalog;
  /** Which era the server was found to speak, and when. */
  readonly era?: { readonly verdict: EraVerdict; readonly at: number };
}

/**
 * Returns a catalog's serialized form, and a digest that is equal for equal contents, whenever they
 * were listed.
 */
export function writeEntry({ server, generation, listedAt, catalog, era }: CatalogEntry) {
  const { tools, instructions, completions, unlisted } = catalog;
  const side = (list: keyof SideLists) =>
    unlisted?.includes(list) === true ? undefined : catalog[list].map(wireForm);
  // In a fixed order, so that equal catalogs have equal digests.
  const lists = {
    tools: tools.map(wireForm),
    resources: side('resources'),
    resourceTemplates: side('resourceTemplates'),
    prompts: side('prompts'),
  };
  const content = writeJson({ ...lists, instructions, completions });
  const digest = digestOf(content);
  const head = { version: entryVersion, server, generation, listedAt, digest, ...(era && { era }) };
  // Serialize the content only once: it may be megabytes.
  const text = `${JSON.stringify(head).slice(0, -1)},"catalog":${content}}\n`;
  return { text, digest: digestOf(`${digest} ${JSON.stringify(era)}`) };
}

/** Returns the name of an owner's file, without its extension. */
export function entryName({ server, generation }: CatalogOwner): string {
  return digestOf(JSON.stringify([server, generation])).slice(0, 32);
}

/** Reads a stored catalog. Returns undefined for another version, and the reason if it is damaged. */
export function readEntry(text: string, owner: CatalogOwner): CatalogEntry | string | undefined {
  let value: unknown;
  try {
    value = parseJson(text);
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
    if (digestOf(writeJson(catalog)) !== digest) return 'its content does not match its digest';
    JSON.stringify(era);
  } catch {
    // JSON of any depth can be parsed, but not serialized.
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

/** Omits items that we would not accept from a server. */
function readCatalog(value: Record<string, unknown>): Catalog {
  const { instructions } = value;
  const list = <Item>({ key, read }: ListKind<Item>): readonly Item[] => {
    const items = value[methods[key].items];
    if (!Array.isArray(items)) return [];
    return items.flatMap((item: unknown) => {
      const known = read(item);
      return typeof known === 'string' ? [] : [known.item];
    });
  };
  const unlisted = sideLists.filter((name) => !Array.isArray(value[name]));
  return {
    tools: list(toolKind),
    resources: list(resourceKind),
    resourceTemplates: list(templateKind),
    prompts: list(promptKind),
    ...(typeof instructions === 'string' &&
      instructions.length <= instructionsCharacters && { instructions }),
    completions: value['completions'] === true,
    ...(unlisted.length > 0 && { unlisted }),
  };
}

function readEra(value: unknown): CatalogEntry['era'] {
  if (!isRecord(value) || typeof value['at'] !== 'number') return undefined;
  const { verdict, at } = value;
  if (!isRecord(verdict)) return undefined;
  if (verdict['kind'] === 'legacy') return { verdict: { kind: 'legacy' }, at };
  const isModern = verdict['kind'] === 'modern' && isRecord(verdict['discover']);
  // As the SDK returned it; the digest does not cover it, and a wrong one fails at the first
  // request.
  return isModern ? { verdict: verdict as unknown as EraVerdict, at } : undefined;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
