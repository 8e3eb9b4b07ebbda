/**
 * What is left over of a stubborn server behind a launcher like `npx`: after an orderly end of
 * the host, after SIGTERM and after SIGKILL, which a host without handlers does not survive.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { descendantsOf, killAll, processesWith, survivorsOf } from '../../lab/processes.ts';
import type { BenchServer } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { launchedServer } from '../servers.ts';
import { always, atMost, isolatedRounds, measure, type Work } from '../work.ts';

interface LeftOverTask {
  readonly contender: string;
  /** The host is a process of its own, so that it can be ended. */
  readonly role: 'judge' | 'host';
  readonly server: BenchServer;
  /** A word in the command line of the launcher and of the server. */
  readonly mark: string;
}

const endings = ['close', 'SIGTERM', 'SIGKILL'] as const;
type Ending = (typeof endings)[number];

// Longer than any contender gives a server that does not want to go.
const patienceMs = 7_000;
const name = 'left-over';

async function host({ contender, server }: LeftOverTask): Promise<unknown> {
  const fleet = (await entryOf(contender).load()).open([server]);
  await fleet.listed(server.name);
  process.send?.({ isUp: true });
  await once(process, 'message');
  await fleet.close();
  return null;
}

async function end(child: ChildProcess, ending: Ending): Promise<void> {
  const gone = once(child, 'exit');
  if (ending === 'close') child.send('close');
  else child.kill(ending);
  await gone;
}

async function leftAfter(task: LeftOverTask, ending: Ending): Promise<number> {
  const child = fork(fileURLToPath(new URL('../child.js', import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.send({ work: name, task: { ...task, role: 'host' } });
  await once(child, 'message');
  // Helpers of the contender count as well, though nothing in their command line says whose they are.
  const descendants = child.pid === undefined ? [] : descendantsOf(child.pid);
  await end(child, ending);
  const left = await survivorsOf(
    () => [...new Set([...descendants, ...processesWith(task.mark, 'cmdline')])],
    patienceMs,
  );
  killAll(left);
  return left.length;
}

async function judge(task: LeftOverTask): Promise<unknown> {
  const values: Record<string, number> = {};
  for (const ending of endings) values[ending] = await leftAfter(task, ending);
  return values;
}

const titles = {
  close: 'an orderly end',
  SIGTERM: 'SIGTERM of the host',
  SIGKILL: 'SIGKILL of the host',
} as const;

export const leftOverWork: Work = {
  name,
  measures: endings.map((id) =>
    measure(
      id,
      `stubborn server behind a launcher, left over after ${titles[id]}`,
      '',
      always(atMost(0)),
    ),
  ),
  rounds: { full: 3, quick: 1 },
  run: (context) =>
    isolatedRounds(context, name, (contender): LeftOverTask => {
      const mark = randomUUID();
      const server = launchedServer('stubborn', ['--stubborn', '--mark', mark]);
      return { contender, role: 'judge', server, mark };
    }),
  job: (task: LeftOverTask) => (task.role === 'host' ? host(task) : judge(task)),
};
