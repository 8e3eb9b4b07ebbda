/** Looks at processes from outside, the same way for every contender. Linux only. */

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    // It is gone.
    return '';
  }
}

/** `R` for one that works or would if a core were free; empty for one that is gone. */
export function stateOf(pid: number): string {
  const stat = read(pid, 'stat');
  // The name of the program, in brackets, may itself hold brackets and spaces.
  return stat.charAt(stat.lastIndexOf(')') + 2);
}

const isAlive = (pid: number): boolean => !['', 'Z', 'X'].includes(stateOf(pid));

export function childrenOf(pid: number): readonly number[] {
  return read(pid, `task/${pid}/children`)
    .split(' ')
    .filter((word) => word.trim() !== '')
    .map(Number);
}

export function descendantsOf(pid: number): readonly number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

export const commandOf = (pid: number): string => read(pid, 'cmdline').replaceAll('\0', ' ');

/** Living processes with this word in their command line. */
export function withWord(word: string): readonly number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/u.test(entry))
    .map(Number)
    .filter((pid) => pid !== process.pid && commandOf(pid).includes(word) && isAlive(pid));
}

/** Who of these still lives when the time is over, or nobody as soon as nobody does. */
export async function survivorsOf(
  look: () => readonly number[],
  limitMs: number,
): Promise<readonly number[]> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const alive = look().filter(isAlive);
    if (alive.length === 0 || performance.now() > deadline) return alive;
    await pause(10);
  }
}

export function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It left by itself in between.
    }
  }
}
