/**
 * The approvals of one project, in memory and on disk.
 *
 * The file decides which servers may start, so it is trusted only if this program could have
 * written all of it and no other user could have. A decision made here takes effect at once and is
 * written soon after. The file is watched: a server that another process revokes stops here too.
 * While the file cannot be trusted or written, its approvals do not count, new decisions apply to
 * this run only, and a problem is reported.
 */

import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../src/domain/clock.ts';
import { type ApprovalRecord, pinKinds } from '../../src/domain/host/approval.ts';
import type { Problem } from '../../src/domain/settings.ts';
import {
  type ApprovalEntry,
  type ApprovalRecords,
  byServer,
  recordsIn,
  subjectOf,
  withEntry,
  withoutSuperseded,
} from '../../src/policies/approvals/records.ts';
import { equalTyped } from '../../src/policies/equal-typed.ts';
import { GroupedMap } from '../../src/policies/grouped-map.ts';
import { codeOf, realFolder, replaceWhole, syncFolder } from '../files/file-system.ts';
import { readPrivateJson, setAside, type UntrustedFile } from '../files/private-file.ts';
import { type WatchFiles, watchSettingsFiles } from '../files/watcher.ts';
import { withFileLock } from './file-lock.ts';

export interface ApprovalStorePorts {
  readonly projectRoot: string;
  /** The state folder; if absent, decisions end with the run. */
  readonly stateDir?: string | undefined;
  readonly clock: Clock;
  readonly onProblems: (problems: readonly Problem[]) => void;
  /** Watches files. Default: on the disk. */
  readonly watch?: WatchFiles;
}

/** Returns the path of the file with all projects' decisions. */
export function approvalFile(stateDir: string): string {
  return path.join(stateDir, 'approvals.json');
}

/** The class's public interface, which tests replace. */
export type ApprovalStore = Pick<Store, keyof Store>;

export function createApprovalStore(ports: ApprovalStorePorts): ApprovalStore {
  return new Store(ports);
}

const nextStep = 'until then its approvals do not count, and decisions end with this run';

class Store {
  readonly #ports: ApprovalStorePorts;
  readonly #file: string | undefined;
  readonly #project: string;
  readonly #listeners = new Set<() => void>();
  /** The file's decisions for this project. */
  #stored: ApprovalRecords = GroupedMap.of();
  /** Decisions made here that are not on disk yet, by server, each server's oldest first. */
  readonly #unsaved = new Map<string, readonly ApprovalEntry[]>();
  #records: ApprovalRecords = GroupedMap.of();
  #work: Promise<void> = Promise.resolve();
  #loaded: Promise<void> | undefined;
  #hasWriteWaiting = false;
  #hasReadWaiting = false;
  /** Whether the file exists but cannot be trusted. */
  #isRefused = false;
  #problem: Problem | undefined;
  #asideNote: Problem | undefined;
  #forgottenNote: Problem | undefined;
  #unwatch: (() => void) | undefined;
  #isClosed = false;

  constructor(ports: ApprovalStorePorts) {
    this.#ports = ports;
    this.#file = ports.stateDir === undefined ? undefined : approvalFile(ports.stateDir);
    this.#project = realFolder(ports.projectRoot);
  }

  /** The project's decisions. A server's list is the same object until something changes. */
  records(): ApprovalRecords {
    return this.#records;
  }

  /** Resolves once the file has been read for the first time. Never rejects. */
  load(): Promise<void> {
    this.#loaded ??= this.#begin();
    return this.#loaded;
  }

  /** Adds a decision, which takes effect at once. */
  add(entry: ApprovalEntry): void {
    if (this.#file === undefined) this.#stored = withEntry(this.#stored, entry);
    else {
      const { server } = subjectOf(entry);
      const before = this.#unsaved.get(server) ?? [];
      this.#unsaved.set(server, [...withoutSuperseded(before, entry), entry]);
    }
    // Comparing with the whole file would compare a million records for a thousand decisions.
    const records = withEntry(this.#records, entry);
    if (records !== this.#records) this.#publish(records);
    if (this.#hasWriteWaiting) return;
    this.#hasWriteWaiting = true;
    this.#enqueue((file) => this.#write(file));
  }

  /** Calls the listener after every change, until the returned function is called. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Resolves with whether every decision was saved to disk. Never rejects. */
  async saved(): Promise<boolean> {
    // Also waits for decisions that are added in the meantime.
    for (let work: Promise<void> | undefined; work !== this.#work; ) {
      work = this.#work;
      await work;
    }
    return this.#file !== undefined && this.#unsaved.size === 0;
  }

  /** Stops watching; resolves after the last write. Returns undefined without a file. */
  close(): Promise<void> | undefined {
    this.#isClosed = true;
    this.#unwatch?.();
    return this.#file === undefined ? undefined : this.#work;
  }

  #begin(): Promise<void> {
    if (this.#file === undefined) return Promise.resolve();
    this.#readSoon();
    const { watch = watchSettingsFiles } = this.#ports;
    this.#unwatch = watch([this.#file], {
      changed: () => this.#readSoon(),
      // It is then polled; the settings watch reports why.
      slowed: () => {},
    });
    return this.#work;
  }

  /** Runs one task at a time, so that an older reading never replaces a newer one. */
  #enqueue(work: (file: string) => Promise<void>): void {
    const file = this.#file;
    if (file !== undefined) this.#work = this.#work.then(() => work(file));
  }

  #readSoon(): void {
    if (this.#hasReadWaiting || this.#isClosed) return;
    this.#hasReadWaiting = true;
    this.#enqueue(async (file) => {
      this.#hasReadWaiting = false;
      const wasRefused = this.#isRefused;
      const reading = await readApprovals(file);
      if ('damage' in reading)
        await this.#locked(file, async () => {
          const records = await this.#readOrSetAside(file);
          if (records !== undefined) this.#take(file, { records });
        });
      else this.#take(file, reading);
      // Decisions made while the file could not be trusted are written now.
      if (wasRefused && !this.#isRefused && this.#unsaved.size > 0) await this.#write(file);
    });
  }

  async #write(file: string): Promise<void> {
    await this.#locked(file, async () => {
      const all = await this.#readOrSetAside(file);
      if (all === undefined) return;
      // Decisions added from here on wait for the next write.
      this.#hasWriteWaiting = false;
      const entries = this.#entries();
      const own = recordsIn(entries.reduce(withEntry, this.#ownOf(all)));
      const foreign = all.filter(({ project }) => project !== this.#project);
      const others = await withoutForgotten(foreign, this.#ports.clock.wallNow());
      const mine = own.map((record) => ({ ...record, project: this.#project }));
      await writeApprovals(file, [...others, ...mine]);
      this.#noteSaved(new Set(entries));
      this.#take(file, { records: [...others, ...mine] });
      const count = foreign.length - others.length;
      if (count === 0) return;
      const message = `removed ${count} approval${count === 1 ? '' : 's'} that had not been used for a year and whose project folder is gone`;
      this.#forgottenNote = { file, message };
      this.#reportAll();
    });
    this.#hasWriteWaiting = false;
  }

  async #locked(file: string, work: () => Promise<void>): Promise<void> {
    try {
      await withFileLock(file, this.#ports.clock, work);
    } catch (error) {
      const why =
        codeOf(error) === 'EFBIG'
          ? fullFile
          : `approvals cannot be saved (${codeOf(error)}); make room or let this user write there`;
      this.#report(file, `${why}; decisions made meanwhile end with this run`);
    }
  }

  /** Resolves with undefined if the file must not be replaced, which is reported. */
  async #readOrSetAside(file: string): Promise<readonly StoredApproval[] | undefined> {
    const reading = await readApprovals(file);
    if ('refusal' in reading) {
      this.#take(file, reading);
      return undefined;
    }
    if ('records' in reading) return reading.records;
    // Its approvals must not count while it is being moved.
    this.#setStored(GroupedMap.of());
    const aside = await setAside(file, this.#ports.clock.wallNow());
    this.#asideNote = {
      file: aside,
      message: `the approvals were damaged (${reading.damage}) and are set aside here; decide again, or fix this file and put it back as ${path.basename(file)}`,
    };
    this.#reportAll();
    return [];
  }

  #take(file: string, reading: Exclude<ApprovalReading, { readonly damage: string }>): void {
    this.#isRefused = 'refusal' in reading;
    if ('refusal' in reading) {
      this.#setStored(GroupedMap.of());
      this.#report(file, `the file of approvals ${reading.refusal}; ${nextStep}`);
      return;
    }
    this.#setStored(this.#ownOf(reading.records));
    if (this.#unsaved.size === 0) this.#report(file, undefined);
  }

  #ownOf(all: readonly StoredApproval[]): ApprovalRecords {
    const own = all.filter(({ project }) => project === this.#project);
    return byServer(own.map(({ project: _project, ...record }) => record));
  }

  #setStored(stored: ApprovalRecords): void {
    this.#stored = stored;
    const before = this.#records;
    const now = this.#entries().reduce(withEntry, stored);
    const changed = now
      .changesSince(before)
      .filter((server) => !equalTyped(now.get(server), before.get(server)));
    if (changed.length > 0)
      this.#publish(before.withAll(changed.map((server) => [server, now.get(server)])));
  }

  #entries(): readonly ApprovalEntry[] {
    return [...this.#unsaved.values()].flat();
  }

  #noteSaved(saved: ReadonlySet<ApprovalEntry>): void {
    for (const [server, entries] of this.#unsaved) {
      const left = entries.filter((entry) => !saved.has(entry));
      if (left.length === 0) this.#unsaved.delete(server);
      else this.#unsaved.set(server, left);
    }
  }

  #publish(records: ApprovalRecords): void {
    this.#records = records;
    for (const listener of this.#listeners) listener();
  }

  #report(file: string, message: string | undefined): void {
    if (message === this.#problem?.message) return;
    this.#problem = message === undefined ? undefined : { file, message };
    this.#reportAll();
  }

  #reportAll(): void {
    const problems = [this.#problem, this.#asideNote, this.#forgottenNote];
    this.#ports.onProblems(problems.filter((each) => each !== undefined));
  }
}

const version = 2;
/** Version 1 had only tool pins and did not record when an approval was used. */
const knownVersions = [1, version];
// Ten thousand decisions, one for each possible server, with the displayed fields of each.
const maxBytes = 16 * 1024 * 1024;
// A year: longer than most breaks in work on a project.
const keptUnusedMs = 365 * 24 * 3_600_000;

const text = z.string();
const digest = z.string().regex(/^[0-9a-f]{64}$/u);

const recordSchema = z.strictObject({
  /** The project's real path. */
  project: text.min(1),
  server: text.min(1),
  fingerprint: digest,
  decision: z.enum(['granted', 'rejected', 'revoked']),
  decidedAt: z.number(),
  facts: z.array(z.strictObject({ field: text, shown: text, digest })),
  usedAt: z.number().optional(),
  pins: z.array(
    z.strictObject({
      kind: z.enum(pinKinds).optional(),
      tool: text,
      digest,
      definition: text.optional(),
    }),
  ),
});
const fileSchema = z.strictObject({
  version: z.literal(knownVersions),
  records: z.array(recordSchema),
});

type StoredApproval = ApprovalRecord & { readonly project: string };

type ApprovalReading = UntrustedFile | { readonly records: readonly StoredApproval[] };

/** Reads all projects' decisions; none if the file does not exist. Never rejects. */
async function readApprovals(file: string): Promise<ApprovalReading> {
  const reading = await readPrivateJson(file, { maxBytes, version, schema: fileSchema });
  if ('damage' in reading || 'refusal' in reading) return reading;
  return { records: (reading.value?.records ?? []) as readonly StoredApproval[] };
}

/** Replaces the file atomically, even across a power failure. */
async function writeApprovals(file: string, records: readonly StoredApproval[]): Promise<void> {
  await replaceWhole(file, textOf(records));
  await syncFolder(path.dirname(file));
}

/**
 * Drops grants that have not been used for a year and whose project folder no longer exists.
 * Everything else stays, above all rejections: without one, the user would be asked about the
 * server again.
 */
async function withoutForgotten(
  records: readonly StoredApproval[],
  wallNow: number,
): Promise<readonly StoredApproval[]> {
  const isOld = ({ decision, decidedAt, usedAt = decidedAt }: StoredApproval): boolean =>
    decision === 'granted' && wallNow - Math.max(usedAt, decidedAt) > keptUnusedMs;
  const projects = new Set(records.filter(isOld).map(({ project }) => project));
  const gone = new Set<string>();
  for (const project of projects) if (await isGone(project)) gone.add(project);
  return records.filter((record) => !isOld(record) || !gone.has(record.project));
}

/** Returns whether a folder no longer exists. A folder that cannot be read counts as existing. */
async function isGone(folder: string): Promise<boolean> {
  return lstat(folder).then(
    () => false,
    (error: unknown) => ['ENOENT', 'ENOTDIR'].includes(codeOf(error)),
  );
}

/** The problem that is reported when the file is full. */
const fullFile = `approvals cannot be saved, because their file would be larger than ${maxBytes / 1024 ** 2} MB; remove records of projects that you no longer use from it`;

/** Drops tool definitions, which are only shown to the user, rather than fail. */
function textOf(records: readonly StoredApproval[]): string {
  const whole = `${JSON.stringify({ version, records }, undefined, 1)}\n`;
  if (Buffer.byteLength(whole) <= maxBytes) return whole;
  const bare = records.map(({ pins, ...record }) => ({
    ...record,
    pins: pins.map(({ definition: _definition, ...pin }) => pin),
  }));
  const short = `${JSON.stringify({ version, records: bare })}\n`;
  if (Buffer.byteLength(short) <= maxBytes) return short;
  throw Object.assign(new Error('too many decisions'), { code: 'EFBIG' });
}
