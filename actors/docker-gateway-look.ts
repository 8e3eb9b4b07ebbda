/**
 * Asks the program `docker` two questions at once: does it know the command `mcp`,
 * and does a daemon stand behind it. Each may take three seconds and has a process
 * of its own group, which is empty when the answer is given. No shell is involved;
 * what Docker says is judged, shown redacted in one line, and never run.
 *
 * Never rejects. When the signal ends it, the answer means nothing.
 */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

import {
  type DockerFinding,
  dockerAnswerMs,
  dockerGatewaySpec,
} from '../src/config/docker-gateway.ts';
import type { Clock } from '../src/domain/clock.ts';
import type { Variables } from '../src/policies/expand-variables.ts';
import { printableLine } from '../src/policies/printable.ts';
import { redact } from '../src/policies/redact.ts';
import type { KeptProcess, ProcessKeeper } from './process-keeper.ts';
import { resolveSpec } from './session-target.ts';
import { killGroup } from './stdio-ending.ts';
import { forgetGroup, processSystem, watchGroup } from './stdio-groups.ts';
import type { StdioLaunch } from './stdio-system.ts';

export interface DockerLookPorts {
  readonly clock: Clock;
  readonly env: Variables;
  readonly projectRoot: string;
  readonly variables: readonly string[];
  readonly signal: AbortSignal;
  readonly processes: ProcessKeeper | undefined;
}

export interface DockerLook {
  /** Settles when both processes run; not at all when one cannot. */
  readonly begun: Promise<unknown>;
  readonly found: Promise<DockerFinding>;
}

const helpWords = ['mcp', '--help'];
const infoWords = ['info', '--format', '{{.ServerVersion}}'];

type Answer =
  | { readonly isLate: true }
  | { readonly unstartable: string }
  | { readonly exitCode: number | null; readonly out: string; readonly err: string };

export function lookForDocker(ports: DockerLookPorts): DockerLook {
  const spec = dockerGatewaySpec(ports.projectRoot, ports.variables);
  const resolved = resolveSpec(spec, ports.env);
  if (resolved.type !== 'stdio') throw new Error('the gateway of Docker is a program');
  const { launch, secrets } = resolved;
  // What one answer settles ends the other question, too.
  const leave = new AbortController();
  const signal = AbortSignal.any([ports.signal, leave.signal]);
  const help = question({ ...launch, args: helpWords }, { ...ports, signal });
  const info = question({ ...launch, args: infoWords }, { ...ports, signal });
  const judge = async (): Promise<DockerFinding> => {
    const clean = (text: string): string => printableLine(redact(text, secrets), maxSaidLength);
    const verdict = judgeHelp(await help.answer, clean);
    if (verdict !== undefined) leave.abort();
    const version = await info.answer;
    return verdict ?? judgeInfo(version, clean) ?? { isThere: true };
  };
  return { begun: Promise.all([help.running, info.running]), found: judge() };
}

type Clean = (text: string) => string;

function judgeHelp(answer: Answer, clean: Clean): DockerFinding | undefined {
  if ('unstartable' in answer) return lacking('program', clean(answer.unstartable));
  if ('isLate' in answer) return lacking('time', asked(helpWords));
  if (answer.exitCode !== 0) return lacking('command', clean(firstLine(answer.err)));
  // Docker answers a request for help with a command it does not know by the help for itself.
  if (/^\s*gateway\b/mu.test(answer.out)) return undefined;
  return /\bUsage:\s+docker\b/u.test(answer.out)
    ? lacking('command', '')
    : lacking('sense', asked(helpWords));
}

function judgeInfo(answer: Answer, clean: Clean): DockerFinding | undefined {
  if ('unstartable' in answer) return lacking('program', clean(answer.unstartable));
  if ('isLate' in answer) return lacking('time', asked(infoWords));
  // Some versions fail to reach the daemon, print nothing, and call that a success.
  const out = answer.out.trim();
  if (answer.exitCode !== 0 || out === '') return lacking('daemon', clean(firstLine(answer.err)));
  return /^v?\d+\.\d+\S*$/u.test(out) ? undefined : lacking('sense', asked(infoWords));
}

function lacking(
  lack: Extract<DockerFinding, { readonly isThere: false }>['lack'],
  said: string,
): DockerFinding {
  return { isThere: false, lack, said };
}

function asked(words: readonly string[]): string {
  return ['docker', ...words].join(' ');
}

/** Docker says first what is wrong, then where to read more. */
function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}

// A help text has a few thousand characters; a program that says more is not read to its end.
const maxOutputLength = 64 * 1024;
// One sentence of Docker's.
const maxSaidLength = 200;
// What a process wrote just before its exit is still in the pipe.
const drainMs = 50;

/** Runs `docker` with these words; `running` does not settle when it cannot be started. */
function question(
  launch: StdioLaunch,
  ports: DockerLookPorts,
): { readonly running: Promise<void>; readonly answer: Promise<Answer> } {
  let begin = (): void => {};
  const running = new Promise<void>((resolve) => {
    begin = resolve;
  });
  return { running, answer: ask(launch, ports, begin) };
}

async function ask(
  launch: StdioLaunch,
  { clock, signal, processes }: DockerLookPorts,
  begin: () => void,
): Promise<Answer> {
  if (signal.aborted) return { isLate: true };
  const kept = processes?.expect('docker');
  const child = startProcess(launch, kept);
  if ('unstartable' in child) return child;
  const { pid } = child;
  child.once('spawn', begin).on('error', () => {});
  const out = collect(child.stdout);
  const err = collect(child.stderr);
  let hasExited = false;
  let exitCode: number | null = null;
  const exited = new Promise<void>((resolve) => {
    child.once('exit', (code) => {
      exitCode = code;
      hasExited = true;
      resolve();
    });
  });
  if (pid === undefined) return { unstartable: await reasonOf(child) };
  watchGroup(pid);
  kept?.started(pid);
  const isLate = await isOverdue(clock, signal, exited);
  if (!isLate) await isOverdue(clock, signal, closed(child), drainMs);
  const group = { system: processSystem, leader: pid, clock, exited, hasExited: () => hasExited };
  // Also after an answer: what the program left behind was only there for the question.
  if (await killGroup({ ...group, descendants: kept?.descendants })) kept?.gone();
  child.stdout.destroy();
  child.stderr.destroy();
  forgetGroup(pid);
  return isLate ? { isLate } : { exitCode, out: out(), err: err() };
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

function startProcess(
  { command, args, env, cwd }: StdioLaunch,
  kept: KeptProcess | undefined,
): Child | { readonly unstartable: string } {
  try {
    return spawn(command, args, {
      cwd,
      env: { ...env, ...kept?.env },
      detached: true,
      shell: false,
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
    });
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

function closed(child: Child): Promise<void> {
  return new Promise((resolve) => {
    child.once('close', () => resolve());
  });
}

/** Waits for an event, but no longer than the limit, and not once the signal is given. */
function isOverdue(
  clock: Clock,
  signal: AbortSignal,
  event: Promise<void>,
  limitMs = dockerAnswerMs,
): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isLate: boolean): void => {
      clock.clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      resolve(isLate);
    };
    const giveUp = (): void => settle(true);
    const timer = clock.setTimeout(giveUp, limitMs);
    signal.addEventListener('abort', giveUp);
    void event.then(() => settle(false));
  });
}

function collect(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    if (text.length < maxOutputLength) text += chunk;
  });
  stream.on('error', () => {});
  return () => text;
}
