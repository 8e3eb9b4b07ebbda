/**
 * Remembers which processes descend from a server, by who was whose parent when it was looked. A
 * process stays known, by its number and start time, after its parent died and it was adopted; one
 * whose parent came and went between two looks is never known. Linux only: elsewhere nothing is found.
 */

import { readFileSync } from 'node:fs';

import { hasProcessTable, type ProcessIdentity } from './process-identity.ts';
import { createLook } from './process-look.ts';

export interface FamilyMember extends ProcessIdentity {
  /** The name of its program, as the system tells it: at most 15 characters. */
  readonly name: string;
  /** The process group that it is in. */
  readonly group: number;
}

interface Seen extends FamilyMember {
  readonly parent: number;
  readonly isRunning: boolean;
}

// More than any honest server starts; a fork bomb must not fill our memory as well.
const maxMembers = 10_000;

export class ProcessFamilies {
  readonly #families = new Map<number, ReadonlyMap<number, Seen>>();

  add({ pid, start }: ProcessIdentity): void {
    const leader = { pid, start, name: '', group: pid, parent: process.pid, isRunning: true };
    this.#families.set(pid, new Map([[pid, leader]]));
  }

  remove(leader: number): void {
    this.#families.delete(leader);
  }

  get size(): number {
    return this.#families.size;
  }

  /** Looks at all processes once, for all families. */
  async look(): Promise<void> {
    if (!hasProcessTable || this.#families.size === 0) return;
    const table = await lookAtParents();
    const byPid = new Map(table.map((seen) => [seen.pid, seen]));
    const byParent = new Map<number, Seen[]>();
    for (const seen of table) {
      const siblings = byParent.get(seen.parent);
      if (siblings === undefined) byParent.set(seen.parent, [seen]);
      else siblings.push(seen);
    }
    for (const [leader, known] of this.#families) {
      this.#families.set(leader, familyOf(known, byPid, byParent));
    }
  }

  /** Those that ran at the last look, without the leader. */
  membersOf(leader: number): readonly FamilyMember[] {
    const members = this.#families.get(leader)?.values() ?? [];
    return [...members].filter(({ pid, isRunning }) => isRunning && pid !== leader);
  }
}

/** Those that were known and still are the same, and all that descend from them. */
function familyOf(
  known: ReadonlyMap<number, Seen>,
  byPid: ReadonlyMap<number, Seen>,
  byParent: ReadonlyMap<number, readonly Seen[]>,
): ReadonlyMap<number, Seen> {
  const family = new Map<number, Seen>();
  for (const { pid, start } of known.values()) {
    const now = byPid.get(pid);
    if (now?.start === start) family.set(pid, now);
  }
  // A map that grows while it is gone through hands out what was added, too.
  for (const pid of family.keys()) {
    for (const child of byParent.get(pid) ?? []) {
      if (family.size < maxMembers) family.set(child.pid, child);
    }
  }
  return family;
}

const lookAtParents = createLook((pid): Seen | undefined => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name in parentheses may itself hold spaces and parentheses; the start is field 22.
  const end = stat.lastIndexOf(')');
  const [state = '', parent, group, , , , , , , , , , , , , , , , , start] = stat
    .slice(end + 2)
    .split(' ');
  if (start === undefined) return undefined;
  return {
    pid,
    start,
    parent: Number(parent),
    group: Number(group),
    name: stat.slice(stat.indexOf('(') + 1, end),
    isRunning: state !== 'Z' && state !== 'X',
  };
});
