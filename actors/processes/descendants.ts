/**
 * Finds each server's descendants by taking snapshots of every process's parent. A known descendant
 * stays known by its id and start time after its parent dies. A process whose parent started and
 * ended between two snapshots is not found this way. Linux only; on other systems, nothing is
 * found.
 */

import { findMarked, isMeantToStay } from './environment-mark.ts';
import {
  childrenOf,
  createScan,
  entryOf,
  hasProcessTable,
  type ProcessEntry,
  type ProcessIdentity,
} from './process-table.ts';

// More than any honest server starts; a fork bomb must not also fill the host's memory.
const maxMembers = 10_000;
// Reading one process of a family takes as long as reading ten of the table, because of its threads.
const fewMembers = 16;

export class ProcessFamilies {
  readonly #families = new Map<number, ReadonlyMap<number, ProcessEntry>>();
  readonly #scan: () => Promise<readonly ProcessEntry[]>;

  /** @param scan - reads all processes. Default: this system's processes */
  constructor(scan: () => Promise<readonly ProcessEntry[]> = createScan(entryOf)) {
    this.#scan = scan;
  }

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

  /** Takes one snapshot of all processes for all families. */
  async scan(): Promise<void> {
    if (!hasProcessTable || this.#families.size === 0) return;
    // A server that starts during the scan may be missing from this snapshot, so its family is not
    // updated.
    const before = [...this.#families];
    const table = await this.#scan();
    const byPid = new Map(table.map((seen) => [seen.pid, seen]));
    const byParent = new Map<number, ProcessEntry[]>();
    for (const seen of table) {
      const siblings = byParent.get(seen.parent);
      if (siblings === undefined) byParent.set(seen.parent, [seen]);
      else siblings.push(seen);
    }
    for (const [leader, known] of before) {
      // Otherwise it has been read since, so the table is older.
      if (this.#families.get(leader) !== known) continue;
      this.#families.set(leader, familyOf(known, byPid, byParent));
    }
  }

  /**
   * Takes a snapshot of one family. Reads its processes alone if they are few and the kernel lists
   * children.
   */
  async scanOne(leader: number | undefined): Promise<void> {
    const known = leader === undefined ? undefined : this.#families.get(leader);
    if (leader === undefined || known === undefined) return;
    const family = smallFamilyOf(known);
    if (family === undefined) await this.scan();
    else this.#families.set(leader, family);
  }

  /**
   * Finds all running descendants of a leader by their mark, their parents and their control group.
   * Omits processes that declare that they outlive their server.
   */
  async descendantsOf(
    leader: number | undefined,
    mark: string,
    cgroup?: { members(): readonly number[] },
  ): Promise<readonly number[]> {
    const marked = await findMarked(mark);
    if (leader === undefined || !hasProcessTable) return marked;
    await this.scanOne(leader);
    const family = this.membersOf(leader).map(({ pid }) => pid);
    const others = [...family, ...(cgroup?.members() ?? [])].filter(
      (pid) => pid !== leader && !isMeantToStay(pid),
    );
    return [...new Set([...marked, ...others])];
  }

  /** Lists the family's processes that were running at the last snapshot, without the leader. */
  membersOf(leader: number): readonly ProcessEntry[] {
    const members = this.#families.get(leader)?.values() ?? [];
    return [...members].filter(({ pid, isRunning }) => isRunning && pid !== leader);
  }
}

/** Keeps the known processes that are still the same, and adds all of their descendants. */
function familyOf(
  known: ReadonlyMap<number, ProcessEntry>,
  byPid: ReadonlyMap<number, ProcessEntry>,
  byParent: ReadonlyMap<number, readonly ProcessEntry[]>,
): ReadonlyMap<number, ProcessEntry> {
  const family = new Map<number, ProcessEntry>();
  for (const { pid, start } of known.values()) {
    const now = byPid.get(pid);
    if (now?.start === start) family.set(pid, now);
  }
  // Iterating over a map also visits entries added during the iteration.
  for (const pid of family.keys()) {
    for (const child of byParent.get(pid) ?? []) {
      if (family.size < maxMembers) family.set(child.pid, child);
    }
  }
  return family;
}

/** Returns the family from lists of children; undefined if it is large or there are no such lists. */
function smallFamilyOf(
  known: ReadonlyMap<number, ProcessEntry>,
): ReadonlyMap<number, ProcessEntry> | undefined {
  const family = new Map<number, ProcessEntry>();
  for (const { pid, start } of known.values()) {
    const now = entryOf(pid);
    if (now?.start === start) family.set(pid, now);
  }
  for (const pid of family.keys()) {
    const children = childrenOf(pid);
    if (children === undefined || family.size > fewMembers) return undefined;
    for (const child of children) {
      const entry = entryOf(child);
      if (entry !== undefined) family.set(child, entry);
    }
  }
  return family;
}
