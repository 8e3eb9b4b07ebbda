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
import type { FoundFile } from '../../machines/record-file.ts';
import type { Clock } from '../../src/domain/clock.ts';
import { type ApprovalRecord, pinKinds } from '../../src/domain/host/approval.ts';
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
import { codeOf, realFolder } from '../files/file-system.ts';
import type { WatchFiles } from '../files/watcher.ts';
import { contentIn, RecordFile, type RecordReading } from './record-file.ts';
import { type StorePorts, StoreProblems } from './store-problems.ts';

export interface ApprovalStorePorts extends StorePorts {
  readonly projectRoot: string;
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

class Store {
  readonly #clock: Clock;
  readonly #file: RecordFile<StoredApprovals> | undefined;
  readonly #project: string;
  readonly #problems: StoreProblems;
  readonly #listeners = new Set<() => void>();
  /** Decisions made here that are not on disk yet, by server, each server's oldest first. */
  readonly #unsaved = new Map<string, readonly ApprovalEntry[]>();
  #records: ApprovalRecords = GroupedMap.of();
  #found: FoundFile = 'absent';
  #loaded: Promise<unknown> | undefined;
  #lastSave: Promise<void> | undefined;
  /** The save that will include the next decision. */
  #nextSave: Promise<void> | undefined;

  constructor({ projectRoot, stateDir, clock, onProblems, watch }: ApprovalStorePorts) {
    this.#clock = clock;
    this.#project = realFolder(projectRoot);
    this.#problems = new StoreProblems(onProblems);
    if (stateDir === undefined) return;
    const place = approvalFile(stateDir);
    const onAside = (aside: string, why: string): void => {
      const message = `the approvals were damaged (${why}) and are set aside here; decide again, or fix this file and put it back as ${path.basename(place)}`;
      this.#problems.set('aside', aside, message);
    };
    const onReading = (reading: RecordReading<StoredApprovals>): void => this.#take(file, reading);
    const file = new RecordFile({ ...form, path: place, clock, watch, onReading, onAside });
    this.#file = file;
  }

  /** The project's decisions. A server's list is the same object until something changes. */
  records(): ApprovalRecords {
    return this.#records;
  }

  /** Resolves once the file has been read for the first time. Never rejects. */
  async load(): Promise<void> {
    if (this.#loaded === undefined) {
      this.#loaded = this.#file?.read();
      this.#file?.watch();
    }
    await this.#loaded;
  }

  /** Adds a decision, which takes effect at once. */
  add(entry: ApprovalEntry): void {
    const { server } = subjectOf(entry);
    const before = this.#unsaved.get(server) ?? [];
    if (this.#file !== undefined)
      this.#unsaved.set(server, [...withoutSuperseded(before, entry), entry]);
    // Comparing with the whole file would compare a million records for a thousand decisions.
    const records = withEntry(this.#records, entry);
    if (records !== this.#records) this.#publish(records);
    if (this.#file !== undefined) this.#saveSoon(this.#file);
  }

  /** Calls the listener after every change, until the returned function is called. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Resolves with whether every decision was saved to disk. Never rejects. */
  async saved(): Promise<boolean> {
    // Also waits for decisions that are added in the meantime.
    for (let save: Promise<void> | undefined; save !== this.#lastSave; ) {
      save = this.#lastSave;
      await save;
    }
    return this.#file !== undefined && this.#unsaved.size === 0;
  }

  /** Stops watching; resolves after the last write. Returns undefined without a file. */
  close(): Promise<void> | undefined {
    return this.#file?.close();
  }

  #saveSoon(file: RecordFile<StoredApprovals>): void {
    this.#nextSave ??= this.#save(file);
    this.#lastSave = this.#nextSave;
  }

  async #save(file: RecordFile<StoredApprovals>): Promise<void> {
    let entries: readonly ApprovalEntry[] = [];
    let forgottenCount = 0;
    const { found } = await file.update(async (content) => {
      // Decisions added from here on wait for the next save.
      this.#nextSave = undefined;
      entries = this.#entries();
      if (entries.length === 0) return undefined;
      const all = content?.records ?? [];
      const own = recordsIn(entries.reduce(withEntry, this.#ownOf(all)));
      const foreign = all.filter(({ project }) => project !== this.#project);
      const others = await withoutForgotten(foreign, this.#clock.wallNow());
      forgottenCount = foreign.length - others.length;
      const mine = own.map((record) => ({ ...record, project: this.#project }));
      return { version, records: [...others, ...mine] };
    });
    this.#nextSave = undefined;
    if (found !== 'kept') return;
    this.#noteSaved(new Set(entries));
    if (this.#unsaved.size === 0) this.#problems.set('file', file.path);
    const message = `removed ${forgottenCount} approval${forgottenCount === 1 ? '' : 's'} that had not been used for a year and whose project folder is gone`;
    if (forgottenCount > 0) this.#problems.set('forgotten', file.path, message);
  }

  #take(file: RecordFile<StoredApprovals>, reading: RecordReading<StoredApprovals>): void {
    const problem = problemOf(reading);
    if (problem !== undefined || this.#unsaved.size === 0)
      this.#problems.set('file', file.path, problem);
    if (reading.found === 'failed') return;
    const isTrustedAgain = this.#found === 'refused' && reading.found !== 'refused';
    this.#found = reading.found;
    this.#setStored(this.#ownOf(contentIn(reading)?.records ?? []));
    // Decisions made while the file could not be trusted are saved now.
    if (isTrustedAgain && this.#unsaved.size > 0) this.#saveSoon(file);
  }

  #ownOf(all: readonly StoredApproval[]): ApprovalRecords {
    const own = all.filter(({ project }) => project === this.#project);
    return byServer(own.map(({ project: _project, ...record }) => record));
  }

  #setStored(stored: ApprovalRecords): void {
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
type StoredApproval = ApprovalRecord & { readonly project: string };

interface StoredApprovals {
  readonly version: number;
  readonly records: readonly StoredApproval[];
}

const schema = z.strictObject({
  version: z.literal(knownVersions),
  records: z.array(recordSchema),
});
const form = { version, maxBytes, schema: schema as z.ZodType<StoredApprovals>, textOf };

function problemOf(reading: RecordReading<unknown>): string | undefined {
  if (reading.found === 'refused')
    return `the file of approvals ${reading.why}; until then its approvals do not count, and decisions end with this run`;
  if (reading.found !== 'failed') return undefined;
  const code = codeOf(reading.error);
  const why =
    code === 'EFBIG'
      ? `approvals cannot be saved, because their file would be larger than ${maxBytes / 1024 ** 2} MB; remove records of projects that you no longer use from it`
      : `approvals cannot be saved (${code}); make room or let this user write there`;
  return `${why}; decisions made meanwhile end with this run`;
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
  const code = await lstat(folder).then(() => '', codeOf);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** Drops tool definitions, which are only shown to the user, rather than fail. */
function textOf({ records }: StoredApprovals): string {
  const whole = `${JSON.stringify({ version, records }, undefined, 1)}\n`;
  if (Buffer.byteLength(whole) <= maxBytes) return whole;
  const bare = records.map(({ pins, ...record }) => ({
    ...record,
    pins: pins.map(({ definition: _definition, ...pin }) => pin),
  }));
  return `${JSON.stringify({ version, records: bare })}\n`;
}
