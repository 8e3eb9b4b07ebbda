/** Runs the command line as a process, and finds processes that it leaves behind. */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, vi } from 'vitest';
import type { Program } from '../support/compiled-program.ts';
import { temporaryFolder } from './run-cli.ts';

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const repository = pathOf('../..');
const fixture = pathOf('../fixtures/stdio-server.mjs');

export interface CliProcess {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  stdout(): string;
  stderr(): string;
  /** Resolves once stdout matches; rejects when the process ends without a match. */
  printed(pattern: RegExp): Promise<RegExpMatchArray>;
  /** The same for stderr. */
  noted(pattern: RegExp): Promise<RegExpMatchArray>;
  readonly ended: Promise<{ readonly exitCode: number | null; readonly signal: string | null }>;
}

export interface Place {
  readonly folder: string;
  /** In the environment of every server started here, so that all can be found. */
  readonly mark: string;
  /** Settings that `up` reads with `--config`. */
  readonly settings: string;
  writeSettings(servers: Record<string, object>, mcp?: object): void;
  writeProject(servers: Record<string, object>): void;
  /** A fixture server in one of its modes. */
  server(mode?: string, more?: object): object;
  /** Starts the command line, and kills it when the test ends. */
  start(...argv: string[]): CliProcess;
  /** Runs the command line until it exits. */
  run(...argv: string[]): Promise<{ exitCode: number | null; stdout: string; stderr: string }>;
  /** Pids of the running servers. */
  servers(): readonly number[];
  /** Resolves when no server runs; fails when one is still running after a while. */
  isEmpty(): Promise<void>;
}

export function createPlace(program: Program): Place {
  const folder = temporaryFolder();
  const mark = `MARK_${randomUUID()}`;
  const settings = path.join(folder, 'troupe.json');
  const write = (file: string, servers: Record<string, object>, mcp?: object): void =>
    writeFileSync(file, JSON.stringify({ mcpServers: servers, mcp }, null, 2));
  const start = (...argv: string[]): CliProcess => {
    const common = ['--project', folder, '--state-dir', path.join(folder, 'state')];
    const child = spawn(process.execPath, [...program.words, ...argv, ...common], {
      cwd: repository,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
      for (const pid of marked(mark)) killIfThere(pid);
    });
    return follow(child);
  };
  return {
    folder,
    mark,
    settings,
    start,
    writeSettings: (servers, mcp) => write(settings, servers, mcp),
    writeProject: (servers) => write(path.join(folder, '.mcp.json'), servers),
    server: (mode = 'ok', more = {}) => ({
      command: process.execPath,
      args: [fixture, mode],
      env: { [mark]: '1' },
      ...more,
    }),
    async run(...argv) {
      const run = start(...argv);
      const { exitCode } = await run.ended;
      return { exitCode, stdout: run.stdout(), stderr: run.stderr() };
    },
    servers: () => marked(mark),
    // The kernel removes a killed process later, and notifies only its parent.
    isEmpty: () =>
      // oxlint-disable-next-line vitest/no-restricted-vi-methods
      vi.waitFor(() => expect(marked(mark)).toEqual([]), { timeout: 5_000, interval: 10 }),
  };
}

function follow(child: CliProcess['child']): CliProcess {
  let stdout = '';
  let stderr = '';
  const waiting = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    for (const look of waiting) look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    for (const look of waiting) look();
  });
  const ended = once(child, 'close').then(([exitCode, signal]) => ({
    exitCode: exitCode as number | null,
    signal: signal as string | null,
  }));
  const matched = (pattern: RegExp, textSoFar: () => string): Promise<RegExpMatchArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = textSoFar().match(pattern);
        if (match === null) return;
        waiting.delete(look);
        resolve(match);
      };
      waiting.add(look);
      look();
      void ended.then(() => reject(new Error(`ended without ${pattern}: ${stdout}${stderr}`)));
    });
  return {
    child,
    ended,
    stdout: () => stdout,
    stderr: () => stderr,
    printed: (pattern) => matched(pattern, () => stdout),
    noted: (pattern) => matched(pattern, () => stderr),
  };
}

/** A process may exit between being found and being killed. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Linux exposes each process's environment; a zombie's is empty. */
function marked(mark: string): readonly number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark);
      } catch {
        return false;
      }
    });
}
