/**
 * Puts each server into a control group (cgroup v2) of its own, where this process may make them.
 * Membership is inherited and survives `setsid`, `env -i` and the death of parents, so a group lists
 * exactly the processes that a server started. Linux only.
 *
 * ```text
 * <the group of this process>/mcp-troupe-<run>/<number of the server>
 * ```
 */

import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';

import { hasProcessTable } from './process-identity.ts';

// A server may make groups below its own, as container engines do; those of hostile depth stay unseen.
const maxDepth = 8;

export interface ServerCgroup {
  /** Adds a process. What it starts from then on is in the group as well; what it started before is not. */
  add(pid: number): void;
  /** The processes that run in it. */
  members(): readonly number[];
  /** Nothing runs in it any more. */
  remove(): void;
}

export interface RunCgroup {
  /** The folder whose folders are the groups of servers. */
  readonly path: string;
  /** Undefined when it cannot be made after all. */
  create(server: number): ServerCgroup | undefined;
  remove(): void;
}

/** The name of the folder of one run. */
export function cgroupNameOf(run: string): string {
  return `mcp-troupe-${run}`;
}

/** Undefined where no control groups are delegated to this process, or these are of version 1. */
export function openRunCgroup(run: string, own = ownCgroup()): RunCgroup | undefined {
  if (own === undefined || !isDelegated(own)) return undefined;
  const folder = path.join(own, cgroupNameOf(run));
  return {
    path: folder,
    create(server) {
      const place = path.join(folder, String(server));
      return isDone(() => mkdirSync(place, { recursive: true })) ? cgroupAt(place) : undefined;
    },
    remove: () => void isDone(() => rmdirSync(folder)),
  };
}

function cgroupAt(place: string): ServerCgroup {
  return {
    // A process that ended at once cannot be added, and need not be.
    add: (pid) => void isDone(() => writeFileSync(path.join(place, 'cgroup.procs'), String(pid))),
    members: () => membersOf(place, 0),
    remove: () => removeTree(place, 0),
  };
}

function membersOf(place: string, depth: number): readonly number[] {
  if (depth > maxDepth) return [];
  try {
    const lines = readFileSync(path.join(place, 'cgroup.procs'), 'latin1').split('\n');
    const own = lines.filter(Boolean).map(Number);
    return [...own, ...foldersIn(place).flatMap((folder) => membersOf(folder, depth + 1))];
  } catch {
    return [];
  }
}

function removeTree(place: string, depth: number): void {
  if (depth > maxDepth) return;
  isDone(() => {
    for (const folder of foldersIn(place)) removeTree(folder, depth + 1);
    rmdirSync(place);
  });
}

function foldersIn(place: string): readonly string[] {
  const entries = readdirSync(place, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => path.join(place, name));
}

/** The folder of the control group that this process is in; undefined where there is no version 2. */
function ownCgroup(): string | undefined {
  if (!hasProcessTable) return undefined;
  try {
    const [, inside] = /^0::(\/.*)$/mu.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? [];
    // "ID PARENT DEVICE ROOT MOUNT-POINT OPTIONS ... - cgroup2 SOURCE OPTIONS"
    const mounted = /^\d+ \d+ \S+ (\S+) (\S+) .* - cgroup2 /mu;
    const [, root, point] = mounted.exec(readFileSync('/proc/self/mountinfo', 'utf8')) ?? [];
    if (inside === undefined || root === undefined || point === undefined) return undefined;
    const below = path.posix.relative(root, inside);
    return below.startsWith('..') ? undefined : path.join(point, below);
  } catch {
    return undefined;
  }
}

/** Processes may be moved from this group into groups that are made below it. */
function isDelegated(own: string): boolean {
  return isDone(() => {
    accessSync(own, constants.W_OK);
    accessSync(path.join(own, 'cgroup.procs'), constants.W_OK);
  });
}

function isDone(action: () => void): boolean {
  try {
    action();
    return true;
  } catch {
    return false;
  }
}
