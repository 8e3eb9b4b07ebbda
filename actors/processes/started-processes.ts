/**
 * Registers the processes that a troupe starts, so that none outlives it: gives each one a mark
 * that its descendants inherit, informs the guardian and, with a state folder, records them for the
 * next run. Reports facts and problems; while we are alive, a process is ended by the session that
 * started it.
 *
 * A descendant that dropped both its environment and its session is found by snapshots of parents
 * and children, taken every few seconds and when the server ends. Anything a snapshot finds is
 * reported at once, because the next one may be too late. Where control groups can be created, each
 * server gets one, and its members are found whatever they do. A process that started before its
 * parent was added to the group is added by the next snapshot.
 */

import { randomUUID } from 'node:crypto';
import path from 'node:path';

import type { Clock } from '../../src/domain/clock.ts';
import { printableLine } from '../../src/domain/data/printable.ts';
import type { Problem } from '../../src/domain/settings.ts';
import { codeOf } from '../files/file-system.ts';
import { withinTime } from '../host/time-limit.ts';
import { openRunCgroup, type RunCgroup, type ServerCgroup } from './cgroups.ts';
import { ProcessFamilies } from './descendants.ts';
import {
  type ProcessRegistry,
  reapEarlierRuns,
  registryFile,
  removeRegistry,
  writeRegistry,
} from './earlier-runs.ts';
import { findMarked, isMeantToStay, markVariable } from './environment-mark.ts';
import { Guardian } from './guardian.ts';
import {
  hasProcessTable,
  type ProcessEntry,
  placeOfThisProcess,
  startOf,
} from './process-table.ts';

// A snapshot of 1,000 processes takes 15 ms of CPU time, in steps: a thousandth of one core.
const scanEveryMs = 15_000;
// Servers start most of their processes at once; the first snapshot finds those.
const firstScanMs = 1_000;
const nameCharacters = 100;
// A process joins its group within 15 ms, unless all of Node's threads are busy, for example with
// names that a dead network does not resolve. The end of a server must not wait for those.
const joinMs = 250;

/** A process that is about to be started, and the group that it will lead. */
export interface KeptProcess {
  /**
   * Called just before the start; returns variables for the process's environment. From then on,
   * the guardian ends every process that carries them.
   */
  readonly prepare: () => Readonly<Record<string, string>>;
  /**
   * Called right after the start, before the process id can be reused. Resolves once the process is
   * in its control group, which holds everything that it starts from then on.
   */
  readonly started: (pid: number) => Promise<unknown>;
  /**
   * Called before the process is ended: takes a last snapshot while its children still have it as
   * their parent.
   */
  readonly ending: () => Promise<void>;
  /** Finds the process's descendants, in its group or not, as far as the system reveals them. */
  readonly descendants: () => Promise<readonly number[]>;
  /** Called once no process is left, in the group or elsewhere. */
  readonly gone: () => void;
}

export interface KeeperPorts {
  /** The state folder; if absent, nothing is written and only the guardian watches. */
  readonly stateDir?: string | undefined;
  readonly clock: Clock;
  readonly wallNow: () => number;
  /** Opens the run's control group. Default: opens the system's; undefined if none is delegated. */
  readonly cgroup?: ((run: string) => RunCgroup | undefined) | undefined;
  readonly onProblems: (problems: readonly Problem[]) => void;
}

/** Creates a troupe's process keeper; returns undefined where process groups do not exist. */
export function createProcessKeeper(ports: KeeperPorts): ProcessKeeper | undefined {
  return process.platform === 'win32' ? undefined : new ProcessKeeper(ports);
}

export class ProcessKeeper {
  readonly #ports: KeeperPorts;
  readonly #run = randomUUID();
  readonly #file: string | undefined;
  readonly #guardian: Guardian;
  readonly #servers = new Map<number, ProcessRegistry['servers'][number]>();
  readonly #cgroup: RunCgroup | undefined;
  readonly #cgroups = new Map<number, ServerCgroup>();
  readonly #families = new ProcessFamilies();
  readonly #problems: Problem[] = [];
  /** Each server's last descendant that dropped both its environment and its session. */
  readonly #escaped = new Map<number, Problem>();
  #nextScan: { readonly timer: unknown; readonly at: number } | undefined;
  #self: Pick<ProcessRegistry, 'place' | 'owner'> | undefined;
  #count = 0;
  #isRegistered = false;

  constructor(ports: KeeperPorts) {
    this.#ports = ports;
    const { stateDir } = ports;
    // The guardian runs in another working folder, and this process may change its own.
    this.#file =
      stateDir === undefined ? undefined : registryFile(path.resolve(stateDir), this.#run);
    this.#cgroup = (ports.cgroup ?? openRunCgroup)(this.#run);
    this.#guardian = new Guardian({
      mark: this.#run,
      cgroup: this.#cgroup?.path,
      file: this.#file,
      report: (why) =>
        this.#report({
          file: '/bin/sh',
          message: `the guardian that ends servers if this process is killed does not run (${why}); nothing else is affected`,
        }),
    });
  }

  /** The guardian's process id; undefined before the first server and after the last. */
  get guardianPid(): number | undefined {
    return this.#guardian.pid;
  }

  expect(server: string): KeptProcess {
    this.#count += 1;
    const number = this.#count;
    const mark = `${this.#run}.${number}`;
    let own: number | undefined;
    let cgroup: ServerCgroup | undefined;
    return {
      prepare: () => {
        this.#guardian.start();
        // If we and the guardian die before the process is registered, the next run looks for the
        // mark.
        if (!this.#isRegistered) this.#register();
        return { [markVariable]: mark };
      },
      started: (pid) => {
        own = pid;
        cgroup = this.#cgroup?.create(number);
        cgroup?.add(pid);
        this.#add(pid, server);
        if (cgroup !== undefined) this.#cgroups.set(pid, cgroup);
        return cgroup?.joined() ?? Promise.resolve();
      },
      ending: () => this.#families.scanOne(own),
      descendants: async () => {
        if (cgroup !== undefined) await withinTime(this.#ports.clock, joinMs, cgroup.joined());
        return this.#families.descendantsOf(own, mark, cgroup);
      },
      gone: () => {
        if (own !== undefined) this.#remove(own);
        cgroup?.remove();
        own = undefined;
      },
    };
  }

  /** Ends the processes that earlier runs left behind. */
  reap(): void {
    const { stateDir, wallNow } = this.#ports;
    if (stateDir === undefined) return;
    void reapEarlierRuns(stateDir, wallNow).then((problems) => {
      for (const problem of problems) this.#report(problem);
    });
  }

  /** Resolves once the guardian is dismissed and the registry is removed. */
  async close(): Promise<void> {
    // Whatever is not known to be gone stays registered until the guardian has ended it.
    if (this.#servers.size === 0 && this.#file !== undefined) removeRegistry(this.#file);
    this.#cancelScan();
    await this.#guardian.dismiss();
    this.#cgroup?.remove();
  }

  /** Takes the next snapshot of parents and children after this delay, or sooner if one is due. */
  #scanAfter(delayMs: number): void {
    if (!hasProcessTable || this.#families.size === 0) return;
    const { clock } = this.#ports;
    const at = clock.now() + delayMs;
    if (this.#nextScan !== undefined && this.#nextScan.at <= at) return;
    this.#cancelScan();
    const timer = clock.setTimeout(() => void this.#scan(), delayMs);
    this.#nextScan = { timer, at };
    // A pending snapshot must not keep the host alive.
    (timer as { unref?: () => unknown } | undefined)?.unref?.();
  }

  async #scan(): Promise<void> {
    this.#nextScan = undefined;
    await this.#families.scan();
    const marked = new Set(await findMarked(this.#run));
    for (const [leader, { server }] of this.#servers) {
      const members = this.#families.membersOf(leader);
      const cgroup = this.#cgroups.get(leader);
      const inside = new Set(cgroup?.members());
      for (const { pid } of members) if (!inside.has(pid)) cgroup?.add(pid);
      const escaped = members.find(({ pid, group }) => group !== leader && !marked.has(pid));
      if (escaped !== undefined) this.#reportEscape(leader, server, escaped);
    }
    this.#scanAfter(scanEveryMs);
  }

  #reportEscape(leader: number, server: string, { pid, name }: ProcessEntry): void {
    const file = `/proc/${pid}`;
    if (this.#escaped.get(leader)?.file === file) return;
    const fate = isMeantToStay(pid)
      ? 'and is meant to outlive it; end it by hand if it should not'
      : 'it ends with its server, but a process that it starts before the next check may not';
    this.#escaped.set(leader, {
      file,
      message: `server ${printableLine(server, nameCharacters)} started process ${pid} (${printableLine(name, nameCharacters)}), which left its environment and session; ${fate}`,
    });
    this.#tellProblems();
  }

  #cancelScan(): void {
    this.#ports.clock.clearTimeout(this.#nextScan?.timer);
    this.#nextScan = undefined;
  }

  #add(pid: number, server: string): void {
    const start = startOf(pid);
    // The process is already dead and reaped; without a start time it could be mistaken for
    // another.
    if (start === undefined) return;
    this.#servers.set(pid, { pid, start, server });
    this.#guardian.add({ pid, start });
    this.#families.add({ pid, start });
    this.#scanAfter(firstScanMs);
    this.#register();
  }

  #remove(pid: number): void {
    if (!this.#servers.delete(pid)) return;
    this.#guardian.remove(pid);
    this.#families.remove(pid);
    this.#cgroups.delete(pid);
    if (this.#families.size === 0) this.#cancelScan();
    if (this.#escaped.delete(pid)) this.#tellProblems();
    this.#register();
  }

  #register(): void {
    if (this.#file === undefined) return;
    this.#self ??= {
      place: placeOfThisProcess(),
      owner: { pid: process.pid, start: startOf(process.pid) ?? 'unknown' },
    };
    const servers = [...this.#servers.values()];
    try {
      const cgroup = this.#cgroup?.path;
      writeRegistry(this.#file, { version: 1, run: this.#run, ...this.#self, cgroup, servers });
    } catch (error) {
      if (this.#isRegistered) return;
      this.#report({
        file: this.#file,
        message: `the processes of this run cannot be registered (${codeOf(error)}); the guardian still watches them`,
      });
    } finally {
      this.#isRegistered = true;
    }
  }

  #report(problem: Problem): void {
    this.#problems.push(problem);
    this.#tellProblems();
  }

  #tellProblems(): void {
    this.#ports.onProblems([...this.#problems, ...this.#escaped.values()]);
  }
}
