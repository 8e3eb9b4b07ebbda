/** Starts children, hands each its job, and waits for the answer, within a limit. */

import { fork } from 'node:child_process';
import { join } from 'node:path';

import { compiledFolder } from './build.ts';

const compiledChild = join(compiledFolder, 'test/bench/child.js');

/** The answer of the child, or null when it was not there in time or the child failed. */
export function runChild(
  work: string,
  task: unknown,
  limitMs: number,
  nodeOptions: readonly string[] = [],
  file = compiledChild,
): Promise<unknown> {
  return new Promise((resolve) => {
    const child = fork(file, {
      // Node 20's fetch warns when the SDK gives it one signal for many requests.
      execArgv: ['--expose-gc', '--disable-warning=MaxListenersExceededWarning', ...nodeOptions],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    let answer: unknown = null;
    const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
    child.on('message', (message: { answer: unknown }) => {
      answer = message.answer;
    });
    child.once('exit', () => {
      clearTimeout(timer);
      resolve(answer);
    });
    child.send({ work, task });
  });
}
