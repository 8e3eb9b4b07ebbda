/** Gives each row a process of its own, within a time limit, and looks for what it left behind. */

import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Order } from './child.ts';
import { endMarked, leftOver } from './marked-processes.ts';
import { nameOf, type Row } from './row.ts';
import type { Perform, Performance } from './run-rows.ts';

const defaultLimitMs = 25_000;
// A host that is done has nothing left to wait for.
const exitMs = 2_000;
// What was killed is gone long before; later than this it was forgotten.
const leftOverMs = 1_000;

export function performIn(compiledFolder: string): Perform {
  return async (row) => {
    // A shell passes on only what could be a name of its own.
    const mark = `FAULTS_MARK_${randomUUID().replaceAll('-', '_')}`;
    const folder = await mkdtemp(join(tmpdir(), 'troupe-faults-'));
    const child = fork(join(compiledFolder, 'test/faults/child.js'), {
      execArgv: ['--enable-source-maps'],
      env: { ...process.env, NODE_NO_WARNINGS: '1' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const order: Order = {
      name: nameOf(row),
      place: {
        mark,
        folder,
        serversFolder: fileURLToPath(new URL('servers', import.meta.url)),
        cliFile: join(compiledFolder, 'src/cli/main.js'),
      },
    };
    try {
      return await follow(child, order, row);
    } finally {
      endMarked(mark);
      // Whoever was killed just now may still have been writing.
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    }
  };
}

async function follow(child: ChildProcess, order: Order, row: Row): Promise<Performance> {
  let words = '';
  const hear = (chunk: Buffer): void => {
    words = (words + chunk.toString()).slice(-2_000);
  };
  child.stdout?.on('data', hear);
  child.stderr?.on('data', hear);
  let answer: Performance | undefined;
  child.once('message', (message) => {
    answer = message as Performance;
    exitTimer.refresh();
  });
  const limitMs = row.limitMs ?? defaultLimitMs;
  const problems: string[] = [];
  const end = (why: string) => (): void => {
    problems.push(why);
    child.kill('SIGKILL');
  };
  const limitTimer = setTimeout(end(`it did not end within ${limitMs / 1_000} s`), limitMs);
  const exitTimer = setTimeout(() => {
    if (answer !== undefined) end('the host did not exit after it had stopped its troupe')();
  }, exitMs);
  child.send(order);
  const [exitCode, signal] = (await once(child, 'exit')) as [number | null, string | null];
  clearTimeout(limitTimer);
  clearTimeout(exitTimer);
  if (answer === undefined && problems.length === 0) {
    problems.push(`the host ended with ${signal ?? exitCode}: ${words.trim().slice(-400)}`);
  }
  const left = await leftOver(order.place.mark, leftOverMs);
  if (left.length > 0) problems.push(`${left.length} processes were left over`);
  return {
    seen: answer?.seen ?? {},
    problems: [...(answer?.problems ?? []), ...problems],
    ms: answer?.ms ?? limitMs,
  };
}
