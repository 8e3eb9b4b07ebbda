/**
 * Holds one file for one writer at a time, across processes.
 *
 * The lock is a file beside it that tells who holds it. Node has no lock that the
 * system takes back from the dead, so a waiter does: it claims the lock of a dead
 * holder, and of several waiters the one with the claim alone may remove it. A
 * claim of somebody who died is passed over by the next number. Readers need no
 * lock: a file that is written under it is replaced whole.
 */

import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../src/domain/clock.ts';
import { codeOf } from '../files/error-code.ts';
import { makeFolders } from '../files/make-folders.ts';
import { isAlive, type ProcessPlace, placeOfThisProcess, startOf } from '../processes/identity.ts';

// Who holds it does so for milliseconds; five seconds are a disk that hangs.
const patienceMs = 5_000;
const pauseMs = 5;
// To look for a process costs little on Linux and a program's start elsewhere.
const lookForHolderMs = 250;
// Of a holder on another machine nobody knows whether it lives, but nobody holds it this long.
const longestHeldMs = 10_000;

// A draft lives for a fraction of a millisecond; a machine that slept meanwhile gets an hour.
const draftLifeMs = 3_600_000;

const holderSchema = z.object({
  token: z.uuid(),
  pid: z.int().min(1),
  start: z.string(),
  place: z.object({ host: z.string(), boot: z.string(), namespace: z.string() }),
});
type Holder = z.infer<typeof holderSchema>;

/** The lock was not to be had. */
class FileLockedError extends Error {
  override readonly name = 'FileLockedError';
  readonly code = 'ELOCKED';
}

/**
 * Does the work while nobody else does any under the lock of the same file.
 *
 * @throws FileLockedError after five seconds; what the file system and the work throw.
 */
export async function withFileLock<Result>(
  file: string,
  clock: Pick<Clock, 'now' | 'wallNow' | 'setTimeout'>,
  work: () => Promise<Result>,
): Promise<Result> {
  const lock = `${file}.lock`;
  const own = holderHere();
  makeFolders(path.dirname(file));
  const startedAt = clock.now();
  let lookedAt = startedAt;
  while (!(await take(lock, own))) {
    const now = clock.now();
    if (now - startedAt > patienceMs) {
      throw new FileLockedError(`another process has held ${lock} for five seconds`);
    }
    if (now - lookedAt >= lookForHolderMs) {
      lookedAt = now;
      await removeIfAbandoned(lock, own, clock.wallNow());
    }
    await new Promise<void>((resolve) => {
      clock.setTimeout(resolve, pauseMs);
    });
  }
  try {
    await sweepDrafts(lock, clock.wallNow());
    return await work();
  } finally {
    await release(lock, own);
  }
}

function holderHere(): Holder {
  const { pid } = process;
  return { token: randomUUID(), pid, start: ownStart(), place: ownPlace() };
}

// Neither changes while we live, and both cost a look at the system.
let start: string | undefined;
let place: ProcessPlace | undefined;
const ownStart = (): string => (start ??= startOf(process.pid) ?? '');
const ownPlace = (): ProcessPlace => (place ??= placeOfThisProcess());

/** Made elsewhere and linked here, so that nobody ever reads half of it. */
async function take(lock: string, own: Holder): Promise<boolean> {
  const draft = `${lock}.${own.token}`;
  await writeFile(draft, JSON.stringify(own), { mode: 0o600 });
  try {
    await link(draft, lock);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Removes what was made to be linked by somebody who was killed before it could. */
async function sweepDrafts(lock: string, wallNow: number): Promise<void> {
  const folder = path.dirname(lock);
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(`${path.basename(lock)}.`) || !draftEnd.test(name)) continue;
    const draft = await found(path.join(folder, name));
    if (draft === undefined || !isLeft(draft, wallNow)) continue;
    await rm(path.join(folder, name), { force: true }).catch(() => undefined);
  }
}

// A claim ends with its number, and only whoever follows it may remove it.
const draftEnd = /\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/u;

/** A writer that lives needs its draft: whose draft nobody can read, or is of elsewhere, is left for an hour. */
function isLeft({ holder, madeAt }: FoundLock, wallNow: number): boolean {
  if (holder !== undefined && isOfHere(holder.place)) return !isAlive(holder);
  return wallNow - madeAt > draftLifeMs;
}

async function release(lock: string, own: Holder): Promise<void> {
  if ((await found(lock))?.token === own.token) await rm(lock, { force: true });
}

async function removeIfAbandoned(lock: string, own: Holder, wallNow: number): Promise<void> {
  const abandoned = await found(lock);
  if (abandoned === undefined || !isGone(abandoned, wallNow)) return;
  const claimOf = (claimant: number): string => `${lock}.${abandoned.token}.${claimant}`;
  for (let claimant = 1; ; claimant += 1) {
    if (await take(claimOf(claimant), own)) {
      // Whoever had the claim before us may have removed it, and somebody else be there now.
      if ((await found(lock))?.token === abandoned.token) await rm(lock, { force: true });
      for (let done = 1; done <= claimant; done += 1) await rm(claimOf(done), { force: true });
      return;
    }
    const rival = await found(claimOf(claimant));
    if (rival === undefined || !isGone(rival, wallNow)) return;
  }
}

/** A lock as it is there; without a holder when nobody can read who that is. */
interface FoundLock {
  readonly token: string;
  readonly madeAt: number;
  readonly holder?: Holder;
}

/** Says whether nobody can hold it any more. */
function isGone({ holder, madeAt }: FoundLock, wallNow: number): boolean {
  if (holder !== undefined && isOfHere(holder.place)) return !isAlive(holder);
  return wallNow - madeAt > longestHeldMs;
}

function isOfHere({ host, boot, namespace }: ProcessPlace): boolean {
  const here = ownPlace();
  return host === here.host && boot === here.boot && namespace === here.namespace;
}

async function found(lock: string): Promise<FoundLock | undefined> {
  try {
    const { mtimeMs, ino } = await stat(lock);
    const holder = holderIn(await readFile(lock, 'utf8'));
    if (holder === undefined) return { token: `${ino}-${Math.trunc(mtimeMs)}`, madeAt: mtimeMs };
    return { token: holder.token, madeAt: mtimeMs, holder };
  } catch {
    return undefined;
  }
}

function holderIn(content: string): Holder | undefined {
  try {
    return holderSchema.parse(JSON.parse(content));
  } catch {
    return undefined;
  }
}
