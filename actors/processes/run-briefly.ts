/**
 * Runs a program for its output, with a time limit and without a shell. The program gets its own
 * process group, which is empty once the result resolves.
 *
 * The result never rejects. When the signal aborts the run, it has `isLate`.
 */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

import type { Clock } from '../../src/domain/clock.ts';
import { withinTime } from '../host/time-limit.ts';
import { forgetGroup, killGroup, processSystem, watchGroup } from './end-process-group.ts';
import type { KeptProcess } from './started-processes.ts';
import type { StdioLaunch } from './system.ts';

interface BriefRunPorts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly limitMs: number;
  /** Where the process is registered; absent if it is not. */
  readonly kept: KeptProcess | undefined;
  /** What the program reads from its input. Default: it has none. */
  readonly input?: string;
  /** Longest output that is read. Default: 64 KB. */
  readonly maxOutputLength?: number;
}

export type BriefAnswer =
  | { readonly isLate: true }
  | { readonly unstartable: string }
  | {
      readonly exitCode: number | null;
      readonly out: string;
      readonly err: string;
      /** Whether the program printed more than is read. */
      readonly isCut: boolean;
    };

export interface BriefRun {
  /** Resolves once the process is running; never settles if it cannot be started. */
  readonly running: Promise<void>;
  readonly answer: Promise<BriefAnswer>;
}

// An answer is one line and a help text a few thousand characters; any further output is ignored.
const usualOutputLength = 64 * 1024;
// Output that a process wrote just before its exit is still in the pipe.
const drainMs = 50;

export function runBriefly(launch: StdioLaunch, ports: BriefRunPorts): BriefRun {
  let begin = (): void => {};
  const running = new Promise<void>((resolve) => {
    begin = resolve;
  });
  return { running, answer: run(launch, ports, begin) };
}

async function run(
  launch: StdioLaunch,
  { clock, signal, kept, limitMs, input, maxOutputLength = usualOutputLength }: BriefRunPorts,
  begin: () => void,
): Promise<BriefAnswer> {
  if (signal.aborted) return { isLate: true };
  const child = startProcess(launch, kept, input !== undefined);
  if ('unstartable' in child) return child;
  const { pid } = child;
  child.once('spawn', begin).on('error', () => {});
  const out = collect(child.stdout, maxOutputLength);
  const err = collect(child.stderr, usualOutputLength);
  // A program may end without having read all of it.
  child.stdin?.on('error', () => {}).end(input);
  const exited = new Promise<{ readonly code: number | null }>((resolve) => {
    child.once('exit', (code) => resolve({ code }));
  });
  if (pid === undefined) return { unstartable: await reasonOf(child) };
  watchGroup(pid);
  void kept?.started(pid);
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  const exit = await withinTime(clock, limitMs, exited, signal);
  if (exit !== undefined) await withinTime(clock, drainMs, closed, signal);
  const hasExited = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const group = { system: processSystem, leader: pid, clock, exited, hasExited };
  // Even after an answer: whatever the program left running was needed only for that.
  if (await killGroup({ ...group, descendants: kept?.descendants })) kept?.gone();
  child.stdout.destroy();
  child.stderr.destroy();
  forgetGroup(pid);
  if (exit === undefined) return { isLate: true };
  const isCut = out().length >= maxOutputLength;
  return { exitCode: exit.code, out: out(), err: err(), isCut };
}

type Child = ChildProcessByStdio<Writable | null, Readable, Readable>;

function startProcess(
  { command, args, env, cwd }: StdioLaunch,
  kept: KeptProcess | undefined,
  hasInput: boolean,
): Child | { readonly unstartable: string } {
  try {
    return spawn(command, args, {
      cwd,
      env: { ...env, ...kept?.prepare() },
      detached: true,
      shell: false,
      stdio: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      windowsHide: true,
    }) as Child;
  } catch (error) {
    return { unstartable: explain(error) };
  }
}

function reasonOf(child: Child): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(explain(error)));
  });
}

function explain(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'was not found on PATH';
  return `cannot be run (${code ?? message})`;
}

function collect(stream: Readable, maxLength: number): () => string {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    if (text.length < maxLength) text += chunk;
  });
  stream.on('error', () => {});
  return () => text;
}
