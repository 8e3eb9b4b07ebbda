/**
 * Keeps account of the processes that one troupe starts, so that none outlives it:
 * gives each a mark that its descendants inherit, tells the guardian, and with a state
 * folder writes them down for the next run. Reports facts and problems; ending a
 * process while we live is for the session that started it.
 */

import { randomUUID } from 'node:crypto';
import path from 'node:path';

import type { Problem } from '../src/domain/settings.ts';
import { Guardian } from './guardian.ts';
import { placeOfThisProcess, startOf } from './process-identity.ts';
import { findMarked, markVariable } from './process-marks.ts';
import { reapEarlierRuns } from './process-reaper.ts';
import {
  type ProcessRegistry,
  type RegisteredServer,
  registryFile,
  removeRegistry,
  writeRegistry,
} from './process-registry.ts';

/** The process of a server actor. */
export interface ActorProcess {
  readonly pid: number;
  /** False until it is asked something: who waits then waits for us. */
  readonly isAsked: boolean;
}

/** One process that is about to be started, and the group that it will lead. */
export interface KeptProcess {
  /** Belongs into its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Called at once after the start, while the number cannot have been given away again. */
  readonly started: (pid: number) => void;
  /** Called when it is asked something, the first time and whenever else. */
  readonly asked: () => void;
  /** Descendants of it, in its group or not, as far as the system tells. */
  readonly descendants: () => Promise<readonly number[]>;
  /** Nothing is left, in its group or elsewhere. */
  readonly gone: () => void;
}

export interface ProcessKeeper {
  /** @param actorId - the server actor that starts it; absent for a helper of ours */
  expect(server: string, actorId?: string): KeptProcess;
  /** The process that a server actor started; undefined before and after. */
  processOf(actorId: string): ActorProcess | undefined;
  /** Ends what earlier runs left behind. */
  reap(): void;
  /** Settles when the guardian is dismissed and the registry removed. */
  close(): Promise<void>;
  /** Of the guardian; undefined before the first server and after the last. */
  readonly guardianPid: number | undefined;
}

export interface KeeperPorts {
  /** Absent: nothing is written, and only the guardian watches. */
  readonly stateDir?: string | undefined;
  readonly wallNow: () => number;
  readonly onProblems: (problems: readonly Problem[]) => void;
}

/** Undefined where processes have no groups. */
export function createProcessKeeper(ports: KeeperPorts): ProcessKeeper | undefined {
  return process.platform === 'win32' ? undefined : new Keeper(ports);
}

class Keeper implements ProcessKeeper {
  readonly #ports: KeeperPorts;
  readonly #run = randomUUID();
  readonly #file: string | undefined;
  readonly #guardian: Guardian;
  readonly #servers = new Map<number, RegisteredServer>();
  readonly #byActor = new Map<string, ActorProcess>();
  readonly #problems: Problem[] = [];
  #self: Pick<ProcessRegistry, 'place' | 'owner'> | undefined;
  #count = 0;
  #isRegistered = false;

  constructor(ports: KeeperPorts) {
    this.#ports = ports;
    const { stateDir } = ports;
    // The guardian runs in another working folder, and this process may move to one.
    this.#file =
      stateDir === undefined ? undefined : registryFile(path.resolve(stateDir), this.#run);
    this.#guardian = new Guardian({
      mark: this.#run,
      ...(this.#file === undefined ? {} : { file: this.#file }),
      report: (why) =>
        this.#report({
          file: '/bin/sh',
          message: `the guardian that ends servers if this process is killed does not run (${why}); nothing else is affected`,
        }),
    });
  }

  get guardianPid(): number | undefined {
    return this.#guardian.pid;
  }

  processOf(actorId: string): ActorProcess | undefined {
    return this.#byActor.get(actorId);
  }

  expect(server: string, actorId?: string): KeptProcess {
    this.#count += 1;
    const mark = `${this.#run}.${this.#count}`;
    let own: number | undefined;
    let isAsked = false;
    return {
      env: { [markVariable]: mark },
      started: (pid) => {
        own = pid;
        this.#add(pid, server);
        if (actorId !== undefined) this.#byActor.set(actorId, { pid, isAsked: false });
      },
      asked: () => {
        if (isAsked || own === undefined) return;
        isAsked = true;
        if (actorId !== undefined) this.#byActor.set(actorId, { pid: own, isAsked });
      },
      descendants: () => findMarked(mark),
      gone: () => {
        if (own !== undefined) this.#remove(own);
        // A later session of the same actor may have started another.
        if (actorId !== undefined && this.#byActor.get(actorId)?.pid === own)
          this.#byActor.delete(actorId);
        own = undefined;
      },
    };
  }

  reap(): void {
    const { stateDir, wallNow } = this.#ports;
    if (stateDir === undefined) return;
    void reapEarlierRuns(stateDir, wallNow).then((problems) => {
      for (const problem of problems) this.#report(problem);
    });
  }

  async close(): Promise<void> {
    // What is not known to be gone stays registered until the guardian has ended it.
    if (this.#servers.size === 0 && this.#file !== undefined) removeRegistry(this.#file);
    await this.#guardian.dismiss();
  }

  #add(pid: number, server: string): void {
    const start = startOf(pid);
    // Dead and reaped already; without a start time it could be mistaken for another.
    if (start === undefined) return;
    this.#servers.set(pid, { pid, start, server });
    this.#guardian.add({ pid, start });
    this.#register();
  }

  #remove(pid: number): void {
    if (!this.#servers.delete(pid)) return;
    this.#guardian.remove(pid);
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
      writeRegistry(this.#file, { version: 1, run: this.#run, ...this.#self, servers });
      this.#isRegistered = true;
    } catch (error) {
      if (this.#isRegistered) return;
      this.#isRegistered = true;
      const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
      this.#report({
        file: this.#file,
        message: `the processes of this run cannot be written down (${why}); the guardian still watches them`,
      });
    }
  }

  #report(problem: Problem): void {
    this.#problems.push(problem);
    this.#ports.onProblems([...this.#problems]);
  }
}
