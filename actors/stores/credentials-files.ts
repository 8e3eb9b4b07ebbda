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
import type { Clock } from '../../src/domain/clock.ts';
import type { Problem } from '../../src/domain/settings.ts';
import {
  codeOf,
  draftSuffix,
  makeFolders,
  replaceWhole,
  syncFolder,
} from '../files/file-system.ts';
import { readPrivateJson, setAside } from '../files/private-file.ts';
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

export interface CredentialFilesPorts {
  readonly stateDir: string;
  readonly clock: Clock;
  readonly onProblems: (problems: readonly Problem[]) => void;
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

type Reading =
  | { readonly record: CredentialRecord | undefined }
  /** Must be set aside. */
  | { readonly fault: string }
  /** May be intact. */
  | { readonly refusal: string };

class Files implements CredentialRecords {
  readonly #folder: string;
  readonly #ports: CredentialFilesPorts;
  /** By key. */
  readonly #problems = new Map<string, Problem>();
  /** Files that were set aside in this run. */
  #notes: readonly Problem[] = [];

  constructor(ports: CredentialFilesPorts) {
    this.#ports = ports;
    this.#folder = path.join(ports.stateDir, 'credentials');
  }

  async read(key: string): Promise<CredentialRecord | undefined> {
    const reading = await readRecord(this.#fileOf(key), key);
    if ('record' in reading) return reading.record;
    if ('refusal' in reading) throw this.#refused(key, reading.refusal);
    // Another process may be replacing the file.
    return this.locked(key, 'save', () => this.readLocked(key));
  }

  async generationOf(key: string): Promise<number | undefined> {
    const reading = await readRecord(this.#fileOf(key), key);
    return 'record' in reading ? reading.record?.generation : undefined;
  }

  async readLocked(key: string): Promise<CredentialRecord | undefined> {
    const file = this.#fileOf(key);
    const reading = await readRecord(file, key);
    if ('refusal' in reading) throw this.#refused(key, reading.refusal);
    if ('fault' in reading) await this.#setAside(file, reading.fault);
    const current = 'record' in reading ? reading.record : undefined;
    return this.#adopted(key, current);
  }

  async write(key: string, record: CredentialRecord): Promise<void> {
    const text = `${JSON.stringify(record)}\n`;
    if (Buffer.byteLength(text) > maxRecordBytes)
      throw new CredentialStoreError('EFBIG', 'the login is larger than 256 KB');
    try {
      await replaceWhole(this.#fileOf(key), text);
      await syncFolder(this.#folder);
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
    if (this.#problems.get(key)?.message === message) return;
    if (message === undefined) this.#problems.delete(key);
    else this.#problems.set(key, { file: this.#fileOf(key), message });
    this.#reportAll();
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
    const message = `logins cannot be saved in ${this.#folder} (${code}); make room or let this user write there`;
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
    this.#notes = [...this.#notes, { file: aside, message }].slice(-maxNotes);
    this.#reportAll();
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
      const reading = await readRecord(draft, key);
      const record = 'record' in reading ? reading.record : undefined;
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

  #reportAll(): void {
    this.#ports.onProblems([...this.#problems.values(), ...this.#notes]);
  }
}

async function readRecord(file: string, key: string): Promise<Reading> {
  const reading = await readPrivateJson(file, {
    maxBytes: maxRecordBytes,
    version: recordVersion,
    schema: recordSchema,
  });
  if ('refusal' in reading) {
    const { refusal, isExposed } = reading;
    // The remedies after the semicolon are for files that stay where they are.
    return isExposed === true ? { fault: `was not private (it ${whyOf(refusal)})` } : { refusal };
  }
  if ('damage' in reading) return { fault: `was damaged (${reading.damage})` };
  const record = reading.value as CredentialRecord | undefined;
  const id = record?.content?.head.id;
  // A copy under another name would send its token to another server.
  if (id !== undefined && credentialKey(id) !== key)
    return { fault: 'was damaged (it belongs to another server or account)' };
  return { record };
}

function whyOf(refusal: string): string {
  return refusal.split(';', 1)[0] ?? refusal;
}

async function makePrivate(folder: string): Promise<void> {
  makeFolders(folder);
  // Made by hand, or restored from a backup.
  const { mode } = await lstat(folder);
  if ((mode & 0o077) !== 0) await chmod(folder, 0o700).catch(() => undefined);
}
