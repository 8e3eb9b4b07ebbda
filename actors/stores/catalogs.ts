/**
 * Stores catalogs on disk, one file for each server and generation. They only make a start faster:
 * an unusable file is a cache miss, reported once and never an error, and no server waits for a
 * write.
 *
 * A file is replaced atomically. Writes run one at a time, and only a server's latest catalog is
 * written, so an older one never replaces a newer one.
 */

import { createHash } from 'node:crypto';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Catalog, type SideLists, sideLists } from '../../src/domain/catalog.ts';
import type { Clock } from '../../src/domain/clock.ts';
import { parseJson, writeJson } from '../../src/domain/data/exact-json.ts';
import { isRecord } from '../../src/domain/data/is-record.ts';
import type { EraVerdict } from '../../src/domain/session.ts';
import type { Problem } from '../../src/domain/settings.ts';
import { wireForm } from '../../src/policies/tools/announced.ts';
import { promptKind, resourceKind, templateKind, toolKind } from '../../src/protocol/items.ts';
import type { ListKind } from '../../src/protocol/lists.ts';
import { methods } from '../../src/protocol/methods.ts';
import { codeOf, draftSuffix, makeFolders, readPlain, replaceWhole } from '../files/file-system.ts';

const suffix = '.json';
const damagedSuffix = '.damaged';
// A thousand tools of 8 KB each; reading one file takes a tenth of a second at most.
const maxFileBytes = 8 * 1024 * 1024;
const maxFolderBytes = 64 * 1024 * 1024;
// Thirty days: an older catalog says little about the current server.
const longestKeptMs = 2_592_000_000;
// A file this old is rewritten even with the same content, to renew its date.
const redatedMs = 86_400_000;
// A starting server lists its tools, resources and prompts within moments.
const debounceMs = 500;
const readsAtOnce = 16;
// Beyond this number, damaged files have a common cause.
const namedProblems = 5;

export interface CatalogFilesPorts {
  readonly stateDir: string;
  readonly clock: Clock;
  readonly onProblems: (problems: readonly Problem[]) => void;
}

/** The class's public interface, which tests replace. */
export type CatalogFiles = Pick<Files, keyof Files>;

export function createCatalogFiles(ports: CatalogFilesPorts): CatalogFiles {
  return new Files(ports);
}

interface Waiting {
  readonly entry: CatalogEntry;
  readonly secrets: readonly string[];
}

/** The files' sizes and ages, by name. */
type Sizes = Map<string, { readonly bytes: number; readonly writtenAt: number }>;

class Files {
  readonly #folder: string;
  readonly #ports: CatalogFilesPorts;
  readonly #waiting = new Map<string, Waiting>();
  /** The files' known contents, by name. */
  readonly #known = new Map<string, { readonly digest: string; readonly listedAt: number }>();
  readonly #problems: Problem[] = [];
  #timer: unknown;
  #writing: Promise<void> = Promise.resolve();
  #isBroken = false;
  #sizes: Sizes | undefined;

  constructor(ports: CatalogFilesPorts) {
    this.#ports = ports;
    this.#folder = path.join(ports.stateDir, 'catalogs');
  }

  /** Reads these owners' stored catalogs, except those that are too old. Never rejects. */
  async load(
    owners: readonly (CatalogOwner & { readonly maxAgeMs: number | null })[],
  ): Promise<readonly CatalogEntry[]> {
    const found: CatalogEntry[] = [];
    const left = owners.values();
    const reader = async (): Promise<void> => {
      for (const owner of left) {
        const entry = await this.#read(owner);
        if (entry !== undefined && this.#isFresh(entry, owner.maxAgeMs)) found.push(entry);
      }
    };
    await Promise.all(Array.from({ length: Math.min(readsAtOnce, owners.length) }, reader));
    return found;
  }

  /** Writes a catalog soon, unless it contains one of the secrets. */
  save(entry: CatalogEntry, secrets: readonly string[]): void {
    if (this.#isBroken) return;
    this.#waiting.set(entryName(entry), { entry, secrets });
    this.#timer ??= this.#ports.clock.setTimeout(() => void this.close(), debounceMs);
  }

  /** Saves everything now; resolves once it is saved. Never rejects. */
  close(): Promise<void> {
    this.#ports.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#writeAll());
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    for (const [name, waiting] of this.#waiting) {
      this.#waiting.delete(name);
      if (this.#isBroken) continue;
      try {
        await this.#write(name, waiting);
      } catch (error) {
        this.#isBroken = true;
        this.#report(
          this.#folder,
          `catalogs cannot be stored here (${codeOf(error)}); servers start without`,
        );
      }
    }
  }

  async #write(name: string, { entry, secrets }: Waiting): Promise<void> {
    const { text, digest } = writeEntry(entry);
    const file = path.join(this.#folder, name + suffix);
    const known = this.#known.get(name);
    if (known?.digest === digest && entry.listedAt - known.listedAt < redatedMs) return;
    const bytes = Buffer.byteLength(text);
    if (bytes > maxFileBytes || secrets.some((secret) => holds(text, secret))) {
      // The stored catalog is outdated.
      await rm(file, { force: true });
      this.#known.delete(name);
      return;
    }
    makeFolders(this.#folder);
    await replaceWhole(file, text);
    this.#known.set(name, { digest, listedAt: entry.listedAt });
    await this.#bound(name + suffix, bytes, entry.listedAt);
  }

  /** Removes the oldest files until the folder is within its limit. */
  async #bound(name: string, bytes: number, writtenAt: number): Promise<void> {
    this.#sizes ??= await this.#survey();
    this.#sizes.set(name, { bytes, writtenAt });
    let total = 0;
    for (const size of this.#sizes.values()) total += size.bytes;
    if (total <= maxFolderBytes) return;
    const oldest = [...this.#sizes].toSorted(([, a], [, b]) => a.writtenAt - b.writtenAt);
    for (const [other, size] of oldest) {
      if (total <= maxFolderBytes || other === name) break;
      await rm(path.join(this.#folder, other), { force: true });
      this.#sizes.delete(other);
      total -= size.bytes;
    }
  }

  /** Lists the files; removes those that are too old or were never finished. */
  async #survey(): Promise<Sizes> {
    const sizes: Sizes = new Map();
    const oldestAt = this.#ports.clock.wallNow() - longestKeptMs;
    for (const name of await readdir(this.#folder)) {
      if (![suffix, damagedSuffix, draftSuffix].some((ending) => name.endsWith(ending))) continue;
      const file = path.join(this.#folder, name);
      const found = await stat(file).catch(() => undefined);
      if (found === undefined || !found.isFile()) continue;
      // Another troupe may be writing a draft right now, but not for an hour.
      const isLeftOver =
        name.endsWith(draftSuffix) && found.mtimeMs < this.#ports.clock.wallNow() - 3_600_000;
      if (found.mtimeMs < oldestAt || isLeftOver) await rm(file, { force: true });
      else sizes.set(name, { bytes: found.size, writtenAt: found.mtimeMs });
    }
    return sizes;
  }

  async #read(owner: CatalogOwner): Promise<CatalogEntry | undefined> {
    const name = entryName(owner);
    const file = path.join(this.#folder, name + suffix);
    try {
      const bytes = await readOwn(file);
      if (bytes !== undefined && bytes.length > maxFileBytes) {
        await rm(file, { force: true });
        this.#report(file, `the stored catalog of ${owner.server} was too large and is removed`);
        return undefined;
      }
      const entry =
        bytes === undefined ? 'it is not a plain file' : readEntry(bytes.toString('utf8'), owner);
      if (entry === undefined) return undefined;
      if (typeof entry === 'string') {
        await rename(file, path.join(this.#folder, name + damagedSuffix));
        this.#report(
          file,
          `the stored catalog of ${owner.server} is damaged (${entry}) and set aside as ${name}${damagedSuffix}`,
        );
        return undefined;
      }
      this.#known.set(name, { digest: writeEntry(entry).digest, listedAt: entry.listedAt });
      return entry;
    } catch (error) {
      // Usually it does not exist.
      if (codeOf(error) !== 'ENOENT')
        this.#report(
          this.#folder,
          `stored catalogs cannot be read (${codeOf(error)}); servers start without`,
        );
      return undefined;
    }
  }

  #isFresh({ listedAt }: CatalogEntry, maxAgeMs: number | null): boolean {
    const ageMs = this.#ports.clock.wallNow() - listedAt;
    // The date is in the future: a clock was changed, so the file's age is unknown.
    return ageMs >= 0 && ageMs < Math.min(maxAgeMs ?? longestKeptMs, longestKeptMs);
  }

  #report(file: string, message: string): void {
    const isKnown = this.#problems.some((it) => it.file === file && it.message === message);
    if (isKnown || this.#problems.length >= namedProblems) return;
    this.#problems.push({ file, message });
    this.#ports.onProblems([...this.#problems]);
  }
}

/** Reads a file; returns undefined if it is not a plain file or is a link, which is never ours. */
async function readOwn(file: string): Promise<Buffer | undefined> {
  try {
    return (await readPlain(file, maxFileBytes, { followsLink: false }))?.bytes;
  } catch (error) {
    if (codeOf(error) === 'ELOOP') return undefined;
    throw error;
  }
}

function holds(text: string, secret: string): boolean {
  // A secret may also appear in JSON-escaped form.
  return text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1));
}

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
function writeEntry({ server, generation, listedAt, catalog, era }: CatalogEntry) {
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

/**
 * Reads a stored catalog with as little trust as a server's message. Returns undefined for another
 * version, and the reason if it is damaged.
 */
function readEntry(text: string, owner: CatalogOwner): CatalogEntry | string | undefined {
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
