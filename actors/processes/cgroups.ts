/**
 * Puts each server into its own control group (cgroup v2) where this process may create groups.
 * Membership is inherited and survives `setsid`, `env -i` and the parent's death, so a group lists
 * exactly the processes that a server started. Linux only.
 *
 * ```text
 * <group of this process>/mcp-troupe-<run>/<number of the server>
 * ```
 */

import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  write,
} from 'node:fs';
import path from 'node:path';
import { isWithin } from '../files/path-within.ts';
import { hasProcessTable } from './process-table.ts';

// A server may create nested groups, as container engines do. Groups deeper than this are hostile
// and remain unseen.
const maxDepth = 8;

export type RunCgroup = NonNullable<ReturnType<typeof openRunCgroup>>;

/** Returns the name of a run's folder. */
export function cgroupNameOf(run: string): string {
  return `mcp-troupe-${run}`;
}

/** Opens a run's control group; returns undefined if no cgroup v2 is delegated to this process. */
export function openRunCgroup(run: string, own = ownCgroup()) {
  if (own === undefined || !isDelegated(own)) return undefined;
  const folder = path.join(own, cgroupNameOf(run));
  return {
    /** The folder that contains the servers' groups. */
    path: folder,
    /** Creates a server's group; returns undefined if that fails. */
    create(server: number): ServerCgroup | undefined {
      const place = path.join(folder, String(server));
      return isDone(() => mkdirSync(place, { recursive: true }))
        ? new ServerCgroup(place)
        : undefined;
    },
    remove(): void {
      isDone(() => rmdirSync(folder));
    },
  };
}

export class ServerCgroup {
  readonly #place: string;
  #joined = Promise.resolve();

  constructor(place: string) {
    this.#place = place;
  }

  /** Adds a process. Children that it starts later join the group; earlier ones do not. */
  add(pid: number): void {
    const before = this.#joined;
    this.#joined = join(this.#place, pid).then(() => before);
  }

  /** Resolves once every process that was added is in the group. */
  joined(): Promise<void> {
    return this.#joined;
  }

  /** Lists the processes that run in the group. */
  members(): readonly number[] {
    return membersOf(this.#place, 0);
  }

  /** Removes the group once nothing runs in it. */
  remove(): void {
    removeTree(this.#place, 0);
  }
}

/**
 * Moves a process into a group. The kernel first waits until no processor is starting a process,
 * which takes 5 to 15 ms, so the write must not block the event loop. It begins at once, however
 * busy this thread is.
 */
function join(place: string, pid: number): Promise<void> {
  return new Promise((resolve) => {
    const isBegun = isDone(() => {
      const file = openSync(path.join(place, 'cgroup.procs'), 'w');
      // A process that has already ended cannot be added and need not be.
      write(file, String(pid), () => {
        closeSync(file);
        resolve();
      });
    });
    if (!isBegun) resolve();
  });
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

/** Returns the folder of this process's own control group; undefined without cgroup v2. */
function ownCgroup(): string | undefined {
  if (!hasProcessTable) return undefined;
  try {
    const [, inside] = /^0::(\/.*)$/mu.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? [];
    // "ID PARENT DEVICE ROOT MOUNT-POINT OPTIONS ... - cgroup2 SOURCE OPTIONS"
    const mounted = /^\d+ \d+ \S+ (\S+) (\S+) .* - cgroup2 /mu;
    const [, root, point] = mounted.exec(readFileSync('/proc/self/mountinfo', 'utf8')) ?? [];
    if (inside === undefined || root === undefined || point === undefined) return undefined;
    return isWithin(inside, root) ? path.join(point, path.relative(root, inside)) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether processes may be moved from this group into new nested groups. */
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
