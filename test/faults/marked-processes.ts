/** Finds what a row may have left behind: every server of a row carries its mark, and passes it on. */

import { readdirSync, readFileSync } from 'node:fs';

import { pause } from './pause.ts';

/** Pids of the living processes with this mark. The environment of a zombie is empty. */
export function markedProcesses(mark: string): readonly number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/u.test(entry))
    .map(Number)
    .filter((pid) => pid !== process.pid && hasMark(pid, mark));
}

function hasMark(pid: number, mark: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark);
  } catch {
    return false;
  }
}

/** Who is still there after a while; the kernel takes killed processes away in its own time. */
export async function leftOver(mark: string, limitMs: number): Promise<readonly number[]> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const found = markedProcesses(mark);
    if (found.length === 0 || performance.now() > deadline) return found;
    await pause(20);
  }
}

export function endMarked(mark: string): void {
  for (const pid of markedProcesses(mark)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It left by itself in between.
    }
  }
}
