/**
 * The credentials' records in the state folder: one private file each.
 *
 * A file is replaced atomically and durably. It is trusted only if this program could have written
 * all of it and no other user could have read or written it; otherwise it is set aside and reported.
 * After each write, a further file without content is written; processes watch it, and so notice
 * new records as well.
 *
 * A process that is killed while it saves may leave a complete draft, which contains the only valid
 * token. The next process that changes the credential adopts it.
 *
 * On Windows, mode bits mean nothing; the user's profile, in which the state folder is by default,
 * is closed to other users.
 */

import { randomUUID } from 'node:crypto';
import { chmod, lstat, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { z } from 'zod';
import { codeOf, draftSuffix, makeFolders, syncFolder } from '../files/file-system.ts';
import { setAside } from '../files/private-file.ts';
import { type WatchFiles, watchSettingsFiles } from '../files/watcher.ts';
import {
  type CredentialRecord,
  type CredentialRecords,
  CredentialStoreError,
  credentialKey,
  isCredentialKey,
  type LockKind,
  maxRecordBytes,
  recordSchema,
  recordVersion,
} from './credentials-record.ts';
import { type LockLimits, withFileLock } from './file-lock.ts';
import { contentIn, type RecordReading, readRecord, writeRecord } from './record-file.ts';
import { type StorePorts, StoreProblems } from './store-problems.ts';

export interface CredentialFilesPorts extends StorePorts {
  readonly stateDir: string;
  /** Default: on the disk. */
  readonly watch?: WatchFiles | undefined;
}

const suffix = '.json';
const changesName = 'changes';
// More set-aside files than this have a common cause.
const maxNotes = 16;

const limits: Readonly<Record<LockKind, LockLimits>> = {
  // A change takes at most 30 s, for the network, and then saves. A waiting process outlasts both a
  // dead holder in another container and one more change.
  change: { longestHeldMs: 45_000, patienceMs: 80_000 },
  // A host has ten seconds to save.
  save: { longestHeldMs: 12_000, patienceMs: 15_000 },
};

export function createCredentialFiles(ports: CredentialFilesPorts): CredentialRecords {
  return new Files(ports);
}

class Files implements CredentialRecords {
  readonly #folder: string;
  readonly #ports: CredentialFilesPorts;
  readonly #problems: StoreProblems;
  /** How many files were set aside in this run. */
  #asideCount = 0;

  constructor(ports: CredentialFilesPorts) {
    this.#ports = ports;
    this.#folder = path.join(ports.stateDir, 'credentials');
    this.#problems = new StoreProblems(ports.onProblems);
  }

  async read(key: string): Promise<CredentialRecord | undefined> {
    const reading = await readCredential(this.#fileOf(key), key);
    if (reading.found === 'refused') throw this.#refused(key, reading.why);
    // Another process may be replacing the file.
    if (reading.found === 'damaged') return this.locked(key, 'save', () => this.readLocked(key));
    return contentIn(reading);
  }

  async generationOf(key: string): Promise<number | undefined> {
    return contentIn(await readCredential(this.#fileOf(key), key))?.generation;
  }

  async readLocked(key: string): Promise<CredentialRecord | undefined> {
    const file = this.#fileOf(key);
    const reading = await readCredential(file, key);
    if (reading.found === 'refused') throw this.#refused(key, reading.why);
    if (reading.found === 'damaged') await this.#setAside(file, reading.why);
    return this.#adopted(key, contentIn(reading));
  }

  async write(key: string, record: CredentialRecord): Promise<void> {
    try {
      await writeRecord(this.#fileOf(key), `${JSON.stringify(record)}\n`, form.maxBytes);
    } catch (error) {
      throw this.#unwritable(error);
    }
    this.report(key, undefined);
    const changes = path.join(this.#folder, changesName);
    // Without it, others notice the change when they next read the credential.
    await writeFile(changes, randomUUID(), { mode: 0o600 }).catch(() => undefined);
  }

  async keys(): Promise<readonly string[]> {
    try {
      const names = await readdir(this.#folder);
      return names
        .filter((name) => name.endsWith(suffix))
        .map((name) => name.slice(0, -suffix.length))
        .filter(isCredentialKey)
        .toSorted();
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw new CredentialStoreError(
        codeOf(error),
        `cannot list ${this.#folder} (${codeOf(error)}); let this user read it`,
      );
    }
  }

  async locked<Result>(key: string, kind: LockKind, work: () => Promise<Result>): Promise<Result> {
    const file = kind === 'change' ? path.join(this.#folder, key) : this.#fileOf(key);
    let hasBegun = false;
    try {
      await makePrivate(this.#folder);
      return await withFileLock(
        file,
        this.#ports.clock,
        () => {
          hasBegun = true;
          return work();
        },
        limits[kind],
      );
    } catch (error) {
      if (hasBegun || error instanceof CredentialStoreError) throw error;
      if (codeOf(error) !== 'ELOCKED') throw this.#unwritable(error);
      const { holder } = error as { readonly holder?: string };
      const message = `${holder ?? 'another process'} has been changing this login for ${limits[kind].patienceMs / 1_000} seconds; try again, let that process continue if it is stopped, or end it`;
      throw new CredentialStoreError('ELOCKED', message);
    }
  }

  watch(changed: () => void): () => void {
    const { watch = watchSettingsFiles } = this.#ports;
    // When watching falls back to polling, the settings watch reports why.
    return watch([path.join(this.#folder, changesName)], { changed, slowed: () => {} });
  }

  report(key: string, message: string | undefined): void {
    this.#problems.set(key, this.#fileOf(key), message);
  }

  #fileOf(key: string): string {
    return path.join(this.#folder, key + suffix);
  }

  #refused(key: string, refusal: string): CredentialStoreError {
    const message = `the stored login ${refusal}`;
    this.report(key, message);
    return new CredentialStoreError('EACCES', `${this.#fileOf(key)}: ${message}`);
  }

  #unwritable(error: unknown): CredentialStoreError {
    const code = codeOf(error);
    const message =
      code === 'EFBIG'
        ? 'the login is larger than 256 KB'
        : `logins cannot be saved in ${this.#folder} (${code}); make room or let this user write there`;
    return new CredentialStoreError(code, message);
  }

  async #setAside(file: string, fault: string): Promise<void> {
    let aside: string;
    try {
      aside = await setAside(file, this.#ports.clock.wallNow());
    } catch (error) {
      throw this.#unwritable(error);
    }
    // It may still contain valid tokens. A link is left as it is, and so is what it leads to.
    const found = await lstat(aside).catch(() => undefined);
    if (found?.isFile() === true) await chmod(aside, 0o600).catch(() => undefined);
    const message = `a stored login ${fault} and is set aside here; log in again and delete this file`;
    this.#problems.set(`aside ${this.#asideCount % maxNotes}`, aside, message);
    this.#asideCount += 1;
  }

  /** Completes the save of a process that was killed, and removes drafts that are incomplete. */
  async #adopted(
    key: string,
    current: CredentialRecord | undefined,
  ): Promise<CredentialRecord | undefined> {
    const names = await readdir(this.#folder).catch(() => []);
    let latest = current;
    for (const name of names) {
      if (!name.startsWith(`${key}${suffix}.`) || !name.endsWith(draftSuffix)) continue;
      const draft = path.join(this.#folder, name);
      const record = contentIn(await readCredential(draft, key));
      if (record === undefined || record.generation <= (latest?.generation ?? 0)) {
        await rm(draft, { force: true }).catch(() => undefined);
        continue;
      }
      try {
        await rename(draft, this.#fileOf(key));
        await syncFolder(this.#folder);
      } catch (error) {
        throw this.#unwritable(error);
      }
      latest = record;
    }
    return latest;
  }
}

const form = {
  maxBytes: maxRecordBytes,
  version: recordVersion,
  schema: recordSchema as z.ZodType<CredentialRecord>,
};

/** Reads a record. One that another user may have read or written is as good as damaged. */
async function readCredential(file: string, key: string): Promise<RecordReading<CredentialRecord>> {
  const reading = await readRecord(file, form);
  if (reading.found === 'damaged') return { ...reading, why: `was damaged (${reading.why})` };
  if (reading.found === 'refused' && reading.isExposed === true) {
    // The remedies after the semicolon are for files that stay where they are.
    const [why = ''] = reading.why.split(';', 1);
    return { found: 'damaged', why: `was not private (it ${why})` };
  }
  const id = contentIn(reading)?.content?.head.id;
  if (id === undefined || credentialKey(id) === key) return reading;
  // A copy under another name would send its token to another server.
  return { found: 'damaged', why: 'was damaged (it belongs to another server or account)' };
}

async function makePrivate(folder: string): Promise<void> {
  makeFolders(folder);
  // Made by hand, or restored from a backup.
  const { mode } = await lstat(folder);
  if ((mode & 0o077) !== 0) await chmod(folder, 0o700).catch(() => undefined);
}
