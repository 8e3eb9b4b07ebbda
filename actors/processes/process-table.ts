/**
 * Identifies a process. Process ids are reused; an id together with a start time is unique within
 * one place.
 */

import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { psEnvironment } from './guardian-script.ts';

/** Ten times what `ps` takes on a busy machine. */
const psLimitMs = 1_000;

export interface ProcessIdentity {
  readonly pid: number;
  /** On Linux, ticks since the machine booted; on other systems, a date, to the second. */
  readonly start: string;
}

/** The scope within which process ids are comparable. */
export interface ProcessPlace {
  readonly host: string;
  /** Identifies the machine's boot; empty where start times are dates. */
  readonly boot: string;
  /** The process id namespace: a container has its own. */
  readonly namespace: string;
}

/** Whether `/proc` lists every process. */
export const hasProcessTable = process.platform === 'linux';

/** Returns a process's start time; undefined if there is no such process. */
export function startOf(pid: number): string | undefined {
  return hasProcessTable ? entryOf(pid)?.start : startFromPs(pid);
}

/** Returns a process's start time as the guardian reads it without a process table. */
export function startFromPs(pid: number): string | undefined {
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { ...process.env, ...psEnvironment },
    timeout: psLimitMs,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const words = (stdout ?? '').trim();
  return words === '' ? undefined : words.replaceAll(/\s+/gu, '_');
}

/** A process as the process table describes it. */
export interface ProcessEntry extends ProcessIdentity {
  /** The process's name, at most 15 characters. */
  readonly name: string;
  readonly parent: number;
  readonly group: number;
  /** Whether the process is running; false for a zombie. */
  readonly isRunning: boolean;
}

/**
 * Reads one entry of the process table; returns undefined if there is no such process. Linux only.
 */
export function entryOf(pid: number): ProcessEntry | undefined {
  const stat = textOf(`/proc/${pid}/stat`);
  // The name in parentheses may itself contain spaces and parentheses; the start time is field 22.
  const end = stat.lastIndexOf(')');
  const [state = '', parent, group, , , , , , , , , , , , , , , , , start] = stat
    .slice(end + 2)
    .split(' ');
  if (start === undefined) return undefined;
  return {
    pid,
    start,
    name: stat.slice(stat.indexOf('(') + 1, end),
    parent: Number(parent),
    group: Number(group),
    isRunning: state !== 'Z' && state !== 'X',
  };
}

/** Whether the kernel lists a process's children, which most do. */
const listsChildren = existsSync('/proc/thread-self/children');

/**
 * Returns the ids of a process's children, which takes a read for each of its threads; undefined
 * where the kernel does not list them.
 */
export function childrenOf(pid: number): readonly number[] | undefined {
  if (!listsChildren) return undefined;
  const threads = `/proc/${pid}/task`;
  const lists = idsIn(threads).map((thread) => textOf(`${threads}/${thread}/children`));
  return lists.join('').split(' ').filter(Boolean).map(Number);
}

/** Returns whether exactly this process is still running. A zombie is not. */
export function isAlive({ pid, start }: ProcessIdentity): boolean {
  if (!hasProcessTable) return startOf(pid) === start;
  const entry = entryOf(pid);
  return entry?.start === start && entry.isRunning;
}

function idsIn(folder: string): readonly number[] {
  try {
    return readdirSync(folder).map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

export function placeOfThisProcess(): ProcessPlace {
  return {
    host: hostname(),
    boot: textOf('/proc/sys/kernel/random/boot_id').trim(),
    namespace: hasProcessTable ? targetOf('/proc/self/ns/pid') : '',
  };
}

function textOf(file: string): string {
  try {
    return contentOf(file).toString('latin1');
  } catch {
    return '';
  }
}

// Most environments take 4 KB. A longer file is read into a buffer of its own.
const shared = Buffer.allocUnsafeSlow(65_536);

/**
 * Reads a file of `/proc`, whose size is unknown. The content is valid until the next call: a scan
 * reads thousands, and `readFileSync` allocates 64 KB for each.
 *
 * @throws file-system errors
 */
export function contentOf(file: string): Buffer {
  const descriptor = openSync(file, 'r');
  try {
    let length = 0;
    while (length < shared.length) {
      const count = readSync(descriptor, shared, length, shared.length - length, null);
      if (count === 0) return shared.subarray(0, length);
      length += count;
    }
    return readFileSync(file);
  } finally {
    closeSync(descriptor);
  }
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}

// Reading a process takes about 25 µs on a busy machine, so a step takes less than a millisecond.
const processesPerStep = 32;

/**
 * Creates a function that scans all processes. There may be thousands, so it scans in steps to keep
 * the event loop free. Scans run one at a time; callers share the next scan that begins after their
 * request.
 *
 * @param read - reads one process; a process is omitted if this returns undefined or throws
 */
export function createScan<Found>(
  read: (pid: number) => Found | undefined,
): () => Promise<readonly Found[]> {
  let before: Promise<unknown> = Promise.resolve();
  let next: Promise<readonly Found[]> | undefined;
  return () => {
    if (next === undefined) {
      next = before.then(nextTurn).then(() => {
        next = undefined;
        return scanAll(read);
      });
      // The next scan waits for the end of this one, but must not keep what it found.
      before = next.then(() => {});
    }
    return next;
  };
}

async function scanAll<Found>(read: (pid: number) => Found | undefined): Promise<readonly Found[]> {
  const found: Found[] = [];
  // Empty when the table cannot be read, for example with too many open files.
  const pids = idsIn('/proc');
  for (let from = 0; from < pids.length; from += processesPerStep) {
    if (from > 0) await nextTurn();
    for (const pid of pids.slice(from, from + processesPerStep)) {
      const one = readOrNothing(read, pid);
      if (one !== undefined) found.push(one);
    }
  }
  return found;
}

/** Reads a value; returns undefined if the process has exited or cannot be read. */
function readOrNothing<Found>(
  read: (pid: number) => Found | undefined,
  pid: number,
): Found | undefined {
  try {
    return read(pid);
  } catch {
    return undefined;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
