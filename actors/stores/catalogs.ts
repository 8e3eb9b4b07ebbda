/**
 * Stores catalogs on disk, one file for each server and generation. They only make a start faster:
 * an unusable file is a cache miss, reported once and never an error, and no server waits for a
 * write.
 *
 * A file is replaced atomically. Writes run one at a time, and only a server's latest catalog is
 * written, so an older one never replaces a newer one.
 */

import { readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Problem } from '../../src/domain/settings.ts';
import {
  type CatalogEntry,
  type CatalogOwner,
  entryName,
  readEntry,
  writeEntry,
} from '../../src/policies/tools/stored-catalog.ts';
import { codeOf, draftSuffix, makeFolders, readPlain, replaceWhole } from '../files/file-system.ts';
import type { StorePorts } from './store-problems.ts';

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

export interface CatalogFilesPorts extends StorePorts {
  readonly stateDir: string;
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
    this.#waiting.set(entryName(entry), { entry, secrets });
    this.#timer ??= this.#ports.clock.setTimeout(() => void this.close(), debounceMs);
  }

  /** Saves everything now; resolves once it is saved. Never rejects. */
  close(): Promise<void> {
    this.#ports.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    // After one failure, nothing more is written.
    this.#writing = this.#writing.then(() => this.#writeAll());
    return this.#writing.catch((error: unknown) => {
      this.#waiting.clear();
      const message = `catalogs cannot be stored here (${codeOf(error)}); servers start without`;
      this.#report(this.#folder, message);
    });
  }

  async #writeAll(): Promise<void> {
    for (const [name, waiting] of this.#waiting) {
      this.#waiting.delete(name);
      await this.#write(name, waiting);
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
