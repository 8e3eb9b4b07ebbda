/**
 * Reads how much memory processes use, together with everything that they started. It is read only
 * on demand.
 *
 * A process belongs to the tree of the nearest leader above it, or to the leader of its process
 * group, because a process whose parent has ended loses its place in the tree.
 */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';

import type { MemoryUse } from '../../src/domain/host/status.ts';
import { psEnvironment } from './guardian-script.ts';
import { createScan, entryOf, hasProcessTable } from './process-table.ts';

/** A process, with the memory that it holds, if that is known already. */
interface Member {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly bytes?: number;
}

// Ten times what `ps` takes on a busy machine.
const psLimitMs = 1_000;
// A line has about 30 characters; more processes than a machine runs.
const psMaxBytes = 4_194_304;

const scan = createScan((pid): Member | undefined => {
  const entry = entryOf(pid);
  return entry?.isRunning === true ? entry : undefined;
});

/**
 * Returns the resident memory of each leader's tree, by leader. A leader that has ended, and every
 * leader on a system without a process list, is missing.
 */
export async function residentMemory(
  leaders: readonly number[],
): Promise<ReadonlyMap<number, MemoryUse>> {
  if (leaders.length === 0) return new Map();
  const members = hasProcessTable ? await scan() : await membersFromPs();
  return memoryOfTrees(leaders, members, residentBytesOf);
}

/** Sums up each leader's tree. `bytesOf` reads a process whose memory is not known yet. */
export function memoryOfTrees(
  leaders: readonly number[],
  members: readonly Member[],
  bytesOf: (pid: number) => number,
): ReadonlyMap<number, MemoryUse> {
  const byPid = new Map(members.map((each) => [each.pid, each]));
  const wanted = new Set(leaders);
  const uses = new Map<number, MemoryUse>();
  for (const { pid, group, bytes = -1 } of members) {
    const leader = leaderAbove(pid, byPid, wanted) ?? (wanted.has(group) ? group : undefined);
    if (leader === undefined) continue;
    const before = uses.get(leader) ?? { bytes: 0, processCount: 0 };
    uses.set(leader, {
      bytes: before.bytes + (bytes < 0 ? bytesOf(pid) : bytes),
      processCount: before.processCount + 1,
    });
  }
  return uses;
}

// Deeper than any honest tree; a list that was read while processes ended may contain a loop.
const deepest = 64;

function leaderAbove(
  pid: number,
  byPid: ReadonlyMap<number, Member>,
  leaders: ReadonlySet<number>,
): number | undefined {
  let at: Member | undefined = byPid.get(pid);
  for (let depth = 0; at !== undefined && depth < deepest; depth += 1) {
    if (leaders.has(at.pid)) return at.pid;
    at = byPid.get(at.parent);
  }
  return undefined;
}

/** 0 for a process that has just ended. */
function residentBytesOf(pid: number): number {
  try {
    const [, kilobytes] =
      /^VmRSS:\s+(\d+) kB$/mu.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return Number(kilobytes ?? 0) * 1_024;
  } catch {
    return 0;
  }
}

/** Lists all processes with `ps`; none where there is no such program. */
function membersFromPs(): Promise<readonly Member[]> {
  return new Promise((resolve) => {
    execFile(
      'ps',
      ['-A', '-o', 'pid=,ppid=,pgid=,rss='],
      { env: { ...process.env, ...psEnvironment }, timeout: psLimitMs, maxBuffer: psMaxBytes },
      (error, stdout) => resolve(error === null ? membersIn(stdout) : []),
    );
  });
}

/** Reads lines of `pid ppid pgid kilobytes`. */
export function membersIn(text: string): readonly Member[] {
  return text.split('\n').flatMap((line) => {
    const [pid = 0, parent = 0, group = 0, kilobytes = 0] = line.trim().split(/\s+/u).map(Number);
    return pid > 0 ? [{ pid, parent, group, bytes: kilobytes * 1_024 }] : [];
  });
}
