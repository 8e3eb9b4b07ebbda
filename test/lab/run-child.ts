/** Runs a task in a process of its own, within a time limit. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

export interface ChildTask {
  /** A program that calls {@link serveTask}. */
  readonly file: string;
  /** Sent to the program, so it must survive a copy. */
  readonly task: unknown;
  readonly limitMs: number;
  /** Options for Node. */
  readonly node?: readonly string[];
  /** Whether to keep the output for the report instead of printing it. */
  readonly isQuiet?: boolean;
}

export interface ChildEnd {
  /** Undefined when the process ended without an answer. */
  readonly answer: unknown;
  /** Failures of the process; empty if there are none. */
  readonly problems: readonly string[];
}

export async function runChild(launch: ChildTask): Promise<ChildEnd> {
  const { file, task, limitMs, node = [], isQuiet = false } = launch;
  const output = isQuiet ? 'pipe' : 'inherit';
  const child = fork(file, {
    execArgv: [...node],
    env: { ...process.env, ...(isQuiet && { NODE_NO_WARNINGS: '1' }) },
    stdio: ['ignore', output, output, 'ipc'],
  });
  const printed = lastOutputOf(child);
  const problems: string[] = [];
  const kill = (why: string): void => {
    problems.push(why);
    child.kill('SIGKILL');
  };
  let answer: unknown;
  // One limit, which ends only what hangs: a busy machine is no finding.
  const limit = setTimeout(() => {
    const what = answer === undefined ? 'end' : 'exit after its answer';
    kill(`it did not ${what} within ${limitMs / 1_000} s`);
  }, limitMs);
  child.once('message', (message: { readonly answer: unknown }) => {
    ({ answer } = message);
  });
  child.send({ task });
  const [exitCode, signal] = (await once(child, 'exit')) as [number | null, string | null];
  clearTimeout(limit);
  if (answer === undefined && problems.length === 0) {
    problems.push(`the process ended with ${signal ?? exitCode}: ${printed()}`);
  }
  return { answer, problems };
}

function lastOutputOf(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-2_000);
    });
  }
  return () => text.trim().slice(-400);
}

/**
 * Runs in the child: performs its task and answers. Then it only disconnects, because
 * whatever keeps the process alive may be a finding; `leave` can exit instead.
 */
export function serveTask(
  perform: (task: never) => Promise<unknown>,
  leave = (): void => process.disconnect(),
): void {
  process.once('message', ({ task }: { readonly task: never }) => {
    // Keeps the process until the answer is sent.
    process.channel?.ref();
    void perform(task).then((answer) => process.send?.({ answer }, leave));
  });
}
