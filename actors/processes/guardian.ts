/**
 * The guardian: a small process that ends our servers if we die without ending them.
 *
 * The guardian holds the other end of a pipe that breaks when we die, for whatever reason. It
 * starts just before the first server and already knows that server's mark, so every server is
 * guarded from its first instruction. We do not wait for it to start: commands wait in the pipe,
 * and it notices the broken pipe even if we die while it boots. It runs in its own session, so
 * Ctrl-C does not reach it; it neither keeps this process running nor inherits anything from it. A
 * guardian that dies is replaced a few times, and then reported.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { markVariable } from './environment-mark.ts';
import { guardianScript } from './guardian-script.ts';
import { hasProcessTable, type ProcessIdentity } from './process-table.ts';

const restMs = 100;
// The host is dead and its servers have lost their input: time to save their state.
const inputGraceMs = 1_000;
// Half of what an orderly shutdown allows: no caller is waiting for results any more.
const termGraceMs = 1_000;
// SIGKILL cannot be refused, but a busy machine lets even the killed wait for their turn. A process
// that still exists after this is stuck in the kernel.
const killedMs = 5_000;
// A shortage of descriptors or processes is transient; the next server tries again.
const transientCodes: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE', 'EAGAIN']);
// A guardian that keeps getting killed is killed on purpose.
const maxRestarts = 3;
// In addition to the pipe's buffer: thousands of commands, each of which a guardian reads in
// microseconds.
const maxUnreadBytes = 65_536;
// The guardian only has to exit; on a busy machine that may take a while.
const farewellMs = 500;
// All of its phases, on a machine that is ten times overloaded.
const reapLimitMs = 30_000;

export interface GuardianOrders {
  /** The mark in the processes' environment, or the mark's prefix. */
  readonly mark: string;
  /** The registry, removed once no process is left; absent if there is none. */
  readonly file?: string | undefined;
  /** The run's control group, whose members are also ended; absent if there is none. */
  readonly cgroup?: string | undefined;
  /** Called with the reason once no guardian can be started any more. */
  readonly report: (why: string) => void;
}

export class Guardian {
  readonly #orders: GuardianOrders;
  readonly #groups = new Map<number, string>();
  #child: ChildProcess | undefined;
  #restarts = 0;
  #isOver = false;

  constructor(orders: GuardianOrders) {
    this.#orders = orders;
  }

  /** The guardian's process id. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts guarding: from now on, every process with the mark ends when we do. */
  start(): void {
    if (this.#child === undefined && !this.#isOver) this.#start();
  }

  /** Guards the group that this process leads: it ends when we do. */
  add({ pid, start }: ProcessIdentity): void {
    this.#groups.set(pid, start);
    if (this.#child === undefined) this.start();
    else this.#say(`+ ${pid} ${start}`);
  }

  remove(pid: number): void {
    if (this.#groups.delete(pid)) this.#say(`- ${pid}`);
  }

  /**
   * Dismisses the guardian and resolves once it has exited. If groups remain, the guardian ends
   * them on its own and this resolves at once.
   */
  async dismiss(): Promise<void> {
    this.#isOver = true;
    const child = this.#child;
    if (child === undefined) return;
    if (this.#groups.size > 0) {
      child.stdin?.end();
      return;
    }
    child.stdin?.end('bye\n');
    child.ref();
    await endOf(child, farewellMs);
  }

  #start(): void {
    try {
      const child = startGuardian(this.#orders, true);
      this.#child = child;
      // Without a process there will be no exit event, and with a process no error that matters.
      child.once('error', ({ message, code }: NodeJS.ErrnoException) => {
        if (child.pid !== undefined) return;
        if (transientCodes.has(code)) this.#child = undefined;
        else this.#onEnd(message);
      });
      child.once('exit', (code, signal) =>
        this.#onEnd(`it ended by ${signal ?? `exit code ${code}`}`),
      );
    } catch (error) {
      this.#onEnd((error as Error).message);
      return;
    }
    for (const [pid, start] of this.#groups) this.#say(`+ ${pid} ${start}`);
  }

  #say(order: string): void {
    const child = this.#child;
    // The guardian was stopped or is hanging. Its successor takes over all groups at once.
    if ((child?.stdin?.writableLength ?? 0) > maxUnreadBytes) child?.kill('SIGKILL');
    else child?.stdin?.write(`${order}\n`);
  }

  #onEnd(why: string): void {
    this.#child = undefined;
    if (this.#isOver) return;
    if (this.#restarts < maxRestarts) {
      this.#restarts += 1;
      this.#start();
      return;
    }
    this.#isOver = true;
    this.#orders.report(why);
  }
}

/**
 * Ends the groups of a host that died earlier and the processes with its mark; resolves with
 * whether none is left. Signals only processes whose identity is proved.
 */
export async function endLeftovers(
  orders: Omit<GuardianOrders, 'report'>,
  groups: readonly ProcessIdentity[],
): Promise<boolean> {
  const child = startGuardian(orders, false);
  // Our exit does not wait for it: it finishes on its own.
  child.stdin?.end(groups.map(({ pid, start }) => `+ ${pid} ${start}\n`).join(''));
  return (await endOf(child, reapLimitMs)) === 0;
}

function startGuardian(
  { mark, file, cgroup }: Omit<GuardianOrders, 'report'>,
  isHostAlive: boolean,
): ChildProcess {
  const rests = [isHostAlive ? inputGraceMs : 0, termGraceMs, killedMs].map((ms) => ms / restMs);
  const words = [
    `${markVariable}=${mark}`,
    file ?? '',
    hasProcessTable ? 'proc' : 'ps',
    isHostAlive ? 1 : 0,
    ...rests,
    cgroup ?? '',
  ];
  const child = spawn('/bin/sh', ['-c', guardianScript, 'mcp-troupe', ...words.map(String)], {
    // A working folder inside it would prevent a file system from being unmounted.
    cwd: '/',
    detached: true,
    // Do not pass our own environment: it may carry the mark of a troupe that runs us.
    env: { PATH: `/usr/bin:/bin:${process.env['PATH'] ?? '/usr/local/bin'}` },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.unref();
  // The pipe is missing when too many files are open.
  const stdin = child.stdin as Socket | null | undefined;
  // Its exit is reported in any case.
  stdin?.on('error', () => undefined);
  stdin?.unref();
  return child;
}

/** Resolves with the exit code; undefined when the process was killed or never started. */
function endOf(child: ChildProcess, limitMs: number): Promise<number | undefined> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
    return Promise.resolve(child.exitCode ?? undefined);
  }
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), limitMs).unref();
    child.once('exit', (code) => {
      clearTimeout(timer);
      resolve(code ?? undefined);
    });
  });
}
