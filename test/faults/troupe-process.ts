/** `troupe up` or `serve` as a process of its own, for faults that only a process can have. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

import type { TroupeSnapshot } from '../../src/index.ts';
import { until } from './until.ts';

// It starts a second process, on a machine that other rows keep busy.
const statusMs = 30_000;

export interface TroupeLaunch {
  readonly cliFile: string;
  readonly folder: string;
  readonly settings: string;
  readonly mark: string;
  /** The command and its own words. Default: `up`. */
  readonly words?: readonly string[];
  /** A program with arguments that starts ours. */
  readonly wrap?: readonly string[];
  /** Options for Node. */
  readonly node?: readonly string[];
}

export class TroupeProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly exitCode: number | null; readonly signal: string | null }>;
  stdout = '';
  stderr = '';
  readonly #launch: TroupeLaunch;

  constructor(launch: TroupeLaunch) {
    this.#launch = launch;
    // A host that serves over stdio exits when its stdin ends, so it needs one.
    this.child = this.#spawn(
      launch.words ?? ['up'],
      launch.words === undefined ? 'ignore' : 'pipe',
    );
    this.child.stdout?.on('data', (chunk: Buffer) => {
      this.stdout += chunk.toString();
    });
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
    this.ended = once(this.child, 'exit').then(([exitCode, signal]) => ({
      exitCode: exitCode as number | null,
      signal: signal as string | null,
    }));
  }

  /** Runs `status --json` in another process; undefined while that fails. */
  async status(): Promise<TroupeSnapshot | undefined> {
    const child = this.#spawn(['status', '--json']);
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    // If it were not read, the process would never close.
    child.stderr?.resume();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill('SIGKILL');
    }, statusMs);
    const [exitCode] = (await once(child, 'close')) as [number | null];
    clearTimeout(timer);
    if (isLate) throw new Error(`troupe status did not answer within ${statusMs} ms`);
    return exitCode === 0 ? (JSON.parse(text) as TroupeSnapshot) : undefined;
  }

  /** Resolves with the first status that matches. */
  async when(
    isThere: (snapshot: TroupeSnapshot) => boolean,
    what: string,
    limitMs = 60_000,
  ): Promise<TroupeSnapshot> {
    const deadline = performance.now() + limitMs;
    for (;;) {
      const snapshot = await this.status();
      if (snapshot !== undefined && isThere(snapshot)) return snapshot;
      if (performance.now() > deadline || this.child.exitCode !== null) {
        throw new Error(`waited for ${what}; stderr: ${this.stderr.slice(-300)}`);
      }
    }
  }

  async printed(pattern: RegExp): Promise<void> {
    await until(() => pattern.test(this.stdout + this.stderr), `output like ${String(pattern)}`);
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await this.ended;
  }

  #spawn(words: readonly string[], stdin: 'ignore' | 'pipe' = 'ignore'): ChildProcess {
    const { cliFile, folder, settings, mark, wrap = [], node = [] } = this.#launch;
    const options = ['--config', settings, '--project', folder];
    const state = ['--state-dir', path.join(folder, 'state')];
    const line = [...wrap, process.execPath, ...node, cliFile, ...words, ...options, ...state];
    const [program = process.execPath, ...args] = line;
    return spawn(program, args, {
      cwd: folder,
      env: { ...process.env, FAULTS_UP_OF: mark.slice(0, 12) },
      stdio: [stdin, 'pipe', 'pipe'],
    });
  }
}
