/**
 * Locks a file for one writer at a time, across processes.
 *
 * The lock is a second file that names its holder. Node has no lock that the system releases when a
 * process dies, so a waiting process removes a dead holder's lock. It must claim the lock first: of
 * several waiting processes, only the one with the claim may remove it. If a claim's owner dies, the
 * next claim has a higher number. Readers need no lock, because files are replaced atomically.
 */

import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../src/domain/clock.ts';
import { parsedJson } from '../../src/domain/data/parsed-json.ts';
import { codeOf, createWhole, makeFolders } from '../files/file-system.ts';
import {
  hasProcessTable,
  isAlive,
  type ProcessPlace,
  placeOfThisProcess,
  startOf,
} from '../processes/process-table.ts';

export interface LockLimits {
  /** Longest wait for the lock. */
  readonly patienceMs: number;
  /**
   * Age at which the lock of a holder on another machine or in another container is removed, because
   * whether that holder is alive is unknown. Longer than the work may take.
   */
  readonly longestHeldMs: number;
}

// Most locks are held for milliseconds; five seconds indicate a disk that hangs.
const defaultLimits: LockLimits = { patienceMs: 5_000, longestHeldMs: 10_000 };
const shortestPauseMs = 5;
// After a second of waiting: work that takes seconds is over a tenth of a second earlier or later.
const longestPauseMs = 100;
const pauseShare = 10;
// Checking whether a process is alive is cheap on Linux, but requires starting a program on other
// systems.
const checkHolderMs = 250;
// A draft exists for a fraction of a millisecond; an hour allows for a machine that slept in the
// meantime.
const draftLifeMs = 3_600_000;

const holderSchema = z.object({
  token: z.uuid(),
  pid: z.int().min(1),
  start: z.string(),
  place: z.object({ host: z.string(), boot: z.string(), namespace: z.string() }),
});
type Holder = z.infer<typeof holderSchema>;

/**
 * Runs the work while this process holds the file's lock.
 *
 * @throws an error with code `ELOCKED`, and the process in `holder`, after the longest wait, which is five seconds by default;
 * file-system errors; the work's errors
 */
export async function withFileLock<Result>(
  file: string,
  clock: Pick<Clock, 'now' | 'wallNow' | 'setTimeout'>,
  work: () => Promise<Result>,
  { patienceMs, longestHeldMs }: LockLimits = defaultLimits,
): Promise<Result> {
  const lock = `${file}.lock`;
  const { pid } = process;
  const own = { token: randomUUID(), pid, start: ownStart(), place: ownPlace() };
  makeFolders(path.dirname(file));
  const startedAt = clock.now();
  let checkedAt = startedAt;
  while (!(await take(lock, own))) {
    const now = clock.now();
    const waitedMs = now - startedAt;
    if (waitedMs > patienceMs) {
      const message = `another process has held ${lock} for ${patienceMs / 1_000} seconds`;
      throw Object.assign(new Error(message), { code: 'ELOCKED', holder: await holderOf(lock) });
    }
    if (now - checkedAt >= checkHolderMs) {
      checkedAt = now;
      await removeIfAbandoned(lock, own, clock.wallNow() - longestHeldMs);
    }
    const pauseMs = Math.max(waitedMs / pauseShare, shortestPauseMs);
    await new Promise<void>((resolve) => {
      clock.setTimeout(resolve, Math.min(pauseMs, longestPauseMs));
    });
  }
  try {
    await sweepDrafts(lock, clock.wallNow());
    return await work();
  } finally {
    await release(lock, own);
  }
}

/** Names the process that holds a lock, for a message. */
async function holderOf(lock: string): Promise<string | undefined> {
  const { holder } = (await found(lock)) ?? {};
  if (holder === undefined) return undefined;
  const { host } = holder.place;
  return isOfHere(holder.place) ? `process ${holder.pid}` : `process ${holder.pid} on ${host}`;
}

// Neither changes while we run, and both need system calls.
let start: string | undefined;
let place: ProcessPlace | undefined;
const ownStart = (): string => (start ??= startOf(process.pid) ?? '');
const ownPlace = (): ProcessPlace => (place ??= placeOfThisProcess());

function take(lock: string, own: Holder): Promise<boolean> {
  return createWhole(lock, JSON.stringify(own), `${lock}.${own.token}`);
}

/** Removes drafts of processes that were killed before they could link them. */
async function sweepDrafts(lock: string, wallNow: number): Promise<void> {
  const folder = path.dirname(lock);
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(`${path.basename(lock)}.`) || !draftEnd.test(name)) continue;
    const draft = await found(path.join(folder, name));
    if (draft === undefined || !isAbandoned(draft, wallNow - draftLifeMs)) continue;
    await rm(path.join(folder, name), { force: true }).catch(() => undefined);
  }
}

// Drafts end with a token. A claim ends with a number, and only its successor may remove it.
const draftEnd = /\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/u;

async function release(lock: string, own: Holder): Promise<void> {
  if ((await found(lock))?.token === own.token) await rm(lock, { force: true });
}

async function removeIfAbandoned(lock: string, own: Holder, oldestAt: number): Promise<void> {
  const abandoned = await found(lock);
  if (abandoned === undefined || !isAbandoned(abandoned, oldestAt)) return;
  const claimOf = (claimant: number): string => `${lock}.${abandoned.token}.${claimant}`;
  for (let claimant = 1; ; claimant += 1) {
    if (await take(claimOf(claimant), own)) {
      // An earlier claimant may have removed the lock, and another process may now hold it.
      if ((await found(lock))?.token === abandoned.token) await rm(lock, { force: true });
      for (let done = 1; done <= claimant; done += 1) await rm(claimOf(done), { force: true });
      return;
    }
    const rival = await found(claimOf(claimant));
    if (rival === undefined || !isAbandoned(rival, oldestAt)) return;
  }
}

/** An existing lock; has no holder if its content is unreadable. */
interface FoundLock {
  readonly token: string;
  readonly madeAt: number;
  readonly holder?: Holder;
}

/**
 * Returns whether a lock's holder is dead. Where that is unknown, as for a holder on another machine
 * or an unreadable lock, the lock's age decides.
 */
function isAbandoned({ holder, madeAt }: FoundLock, oldestAt: number): boolean {
  const isDead = holder !== undefined && isOfHere(holder.place) ? isDeadHere(holder) : undefined;
  return isDead ?? madeAt < oldestAt;
}

/**
 * Returns whether a holder on this machine is dead; undefined if the start of the process with its
 * id is unknown: Windows has no `ps`, and on a busy machine `ps` may take too long.
 */
function isDeadHere(holder: Holder): boolean | undefined {
  if (isAlive(holder)) return false;
  if (hasProcessTable || !hasProcess(holder.pid)) return true;
  return holder.start === '' || startOf(holder.pid) === undefined ? undefined : true;
}

function hasProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Another user's process may not be signalled, but it exists.
    return codeOf(error) !== 'ESRCH';
  }
}

function isOfHere({ host, boot, namespace }: ProcessPlace): boolean {
  const here = ownPlace();
  return host === here.host && boot === here.boot && namespace === here.namespace;
}

async function found(lock: string): Promise<FoundLock | undefined> {
  try {
    const { mtimeMs, ino } = await stat(lock);
    const holder = holderSchema.safeParse(parsedJson(await readFile(lock, 'utf8'))).data;
    if (holder === undefined) return { token: `${ino}-${Math.trunc(mtimeMs)}`, madeAt: mtimeMs };
    return { token: holder.token, madeAt: mtimeMs, holder };
  } catch {
    return undefined;
  }
}
