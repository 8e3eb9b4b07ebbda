/**
 * The ledger of calls: a file of JSON lines in the state folder, to which all its troupes append.
 *
 * Lines that arrive during a write are written together, in one append under the file's lock. Every
 * line stays whole, whenever a process is killed: a line that was cut is ended before the next one,
 * and readers skip it. A call never waits for its line. A disk failure keeps the lines for the next
 * attempt, with the next line or at the end.
 */

import { constants } from 'node:fs';
import { type FileHandle, rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { CallRecord } from '../../src/domain/call-record.ts';
import type { Clock } from '../../src/domain/clock.ts';
import { parsedJson } from '../../src/domain/data/parsed-json.ts';
import type { LedgerSettings, Problem } from '../../src/domain/settings.ts';
import { codeOf, openPlain } from '../files/file-system.ts';
import { partOf, rotate } from '../files/rotation.ts';
import { withFileLock } from './file-lock.ts';
import { StoreProblems } from './store-problems.ts';

export interface LedgerPorts {
  readonly stateDir: string;
  readonly clock: Clock;
  readonly onProblems: (problems: readonly Problem[]) => void;
}

type LedgerSizes = Pick<LedgerSettings, 'maxBytes' | 'files'>;

export interface Ledger {
  /** Writes a line of JSON soon. Never throws. */
  append(line: string, sizes: LedgerSizes): void;
  /** Resolves after the last write. */
  close(): Promise<void>;
}

// As many files as the settings may ask for; those of an earlier, larger number are removed.
const mostFiles = 100;
// Some 40,000 calls while the file cannot be written; further lines are dropped.
const maxWaitingLength = 16_777_216;
const newline = 0x0a;
const { O_RDWR, O_RDONLY, O_APPEND, O_CREAT } = constants;
const asWritten = { followsLink: false };

/** Returns the path of the newest file. */
export function ledgerFile(stateDir: string): string {
  return path.join(stateDir, 'ledger.ndjson');
}

export function createLedger({ stateDir, clock, onProblems }: LedgerPorts): Ledger {
  const file = ledgerFile(stateDir);
  const problems = new StoreProblems(onProblems);
  let waiting: string[] = [];
  let waitingLength = 0;
  let work: Promise<void> | undefined;
  let latest: LedgerSizes | undefined;

  const write = async (): Promise<void> => {
    while (latest !== undefined && waiting.length > 0) {
      const batch = waiting.join('');
      const sizes = latest;
      const count = waiting.length;
      try {
        await withFileLock(file, clock, () => appendTo(file, batch, sizes));
      } catch (error) {
        const why = `calls are not recorded (${codeOf(error)}); make room for the file, or let this user write it`;
        problems.set('writing', file, why);
        return;
      }
      problems.set('writing', file);
      waiting = waiting.slice(count);
      waitingLength -= batch.length;
    }
  };
  const start = (): Promise<void> => {
    work ??= Promise.resolve()
      .then(write)
      .finally(() => {
        work = undefined;
      });
    return work;
  };

  return {
    append(line, sizes) {
      latest = sizes;
      if (waitingLength + line.length >= maxWaitingLength) {
        const why = 'calls are missing, because the file could not be written for too long';
        problems.set('missing', file, why);
      } else {
        waiting.push(`${line}\n`);
        waitingLength += line.length + 1;
      }
      void start();
    },
    async close() {
      await work;
      await start();
    },
  };
}

/** Appends whole lines, in a new file if this one is full. A failed attempt leaves nothing. */
async function appendTo(file: string, text: string, sizes: LedgerSizes): Promise<void> {
  const bytes = Buffer.from(text);
  if (await isAppended(file, bytes, sizes.maxBytes)) return;
  await rotate(file, sizes.files);
  for (let number = sizes.files; number < mostFiles; number += 1)
    await rm(partOf(file, number), { force: true });
  await isAppended(file, bytes, Number.POSITIVE_INFINITY);
}

/** Appends the lines, unless they would make a file with lines too large. */
async function isAppended(file: string, bytes: Buffer, maxBytes: number): Promise<boolean> {
  const opened = await openPlain(file, O_RDWR | O_APPEND | O_CREAT, asWritten);
  if (opened === undefined) throw Object.assign(new Error('not a file'), { code: 'EISDIR' });
  const { handle, stats } = opened;
  const { size } = stats;
  try {
    if (size > 0 && size + bytes.length > maxBytes) return false;
    const isCut = size > 0 && (await lastByte(handle, size)) !== newline;
    const whole = isCut ? Buffer.concat([Buffer.of(newline), bytes]) : bytes;
    const { bytesWritten } = await handle.write(whole);
    if (bytesWritten === whole.length) return true;
    await handle.truncate(size);
    throw Object.assign(new Error('the disk is full'), { code: 'ENOSPC' });
  } finally {
    await handle.close();
  }
}

async function lastByte(handle: FileHandle, size: number): Promise<number | undefined> {
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0];
}

/** Fields that later versions add are kept. */
const recordSchema = z.looseObject({
  time: z.string(),
  project: z.string(),
  client: z.string(),
  user: z.string().optional(),
  view: z.string().optional(),
  server: z.string(),
  method: z.string(),
  tool: z.string().optional(),
  outcome: z.enum(['not_executed', 'executed', 'unknown']),
  code: z.string().optional(),
  isError: z.literal(true).optional(),
  durationMs: z.number(),
  argumentsBytes: z.number(),
  resultBytes: z.number().optional(),
});

/**
 * Reads the records, oldest first; undefined stands for a line that is not a record. Needs no lock, and
 * reads everything that was written before the call. Throws file-system errors.
 */
export async function* readLedger(stateDir: string): AsyncGenerator<CallRecord | undefined> {
  const handles = await openParts(ledgerFile(stateDir));
  // Held back, because a troupe may be writing the last line of all.
  let isCut = false;
  try {
    for await (const line of linesOf(handles.toReversed())) {
      if (isCut) yield undefined;
      const record = recordSchema.safeParse(parsedJson(line)).data;
      isCut = record === undefined;
      if (record !== undefined) yield record as CallRecord;
    }
  } finally {
    for (const handle of handles) await handle.close();
  }
}

async function* linesOf(handles: readonly FileHandle[]): AsyncGenerator<string> {
  for (const handle of handles) yield* handle.readLines({ autoClose: false });
}

/** Opens all files, the newest first: one that gets the next number meanwhile is found twice, not missed. */
async function openParts(file: string): Promise<readonly FileHandle[]> {
  const handles = new Map<string, FileHandle>();
  for (let number = 0; number < mostFiles; number += 1) {
    const opened = await openPlain(partOf(file, number), O_RDONLY, asWritten).catch(ifAbsent);
    if (opened === undefined) continue;
    const { handle, stats } = opened;
    const identity = `${stats.dev}:${stats.ino}`;
    if (handles.has(identity)) await handle.close();
    else handles.set(identity, handle);
  }
  return [...handles.values()];
}

function ifAbsent(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
}
