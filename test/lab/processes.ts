/** Finds and ends processes from outside. Linux only. */

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    // The process has ended, or belongs to another user.
    return '';
  }
}

/** The state letter of a process; empty after its end. */
function stateOf(pid: number): string {
  const stat = read(pid, 'stat');
  // The program's name, in brackets, may itself contain brackets and spaces.
  return stat.charAt(stat.lastIndexOf(')') + 2);
}

const isAlive = (pid: number): boolean => !['', 'Z', 'X'].includes(stateOf(pid));

export function childrenOf(pid: number): readonly number[] {
  return read(pid, `task/${pid}/children`)
    .split(' ')
    .filter((word) => word.trim() !== '')
    .map(Number);
}

/** Living processes, except this one, with a word in their command line or environment. */
export function processesWith(word: string, where: 'cmdline' | 'environ'): readonly number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/u.test(entry))
    .map(Number)
    .filter((pid) => pid !== process.pid && read(pid, where).includes(word) && isAlive(pid));
}

/**
 * Those of a run: with its mark in their environment, or its folder in their command line, as the
 * guardian of servers, whose environment is empty.
 */
export function processesOf(mark: string, folder: string): readonly number[] {
  const found = [...processesWith(mark, 'environ'), ...processesWith(folder, 'cmdline')];
  return [...new Set(found)];
}

/** The processes that are still alive after the limit; returns early once there are none. */
export async function survivorsOf(
  find: () => readonly number[],
  limitMs: number,
): Promise<readonly number[]> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const alive = find().filter(isAlive);
    if (alive.length === 0 || performance.now() > deadline) return alive;
    await pause(10);
  }
}

export function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has already ended.
    }
  }
}
