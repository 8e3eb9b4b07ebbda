/** Heap per server: connected over HTTP and idle, or dormant. */

import { setTimeout as pause } from 'node:timers/promises';

import type { BenchServer, Contender, Fleet } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { startHttpServers, stdioServers } from '../servers.ts';
import { below, isolatedRounds, measure, type Work } from '../work.ts';

interface MemoryTask {
  readonly contender: string;
  /** Opened before the measurement: code and tables that exist once are not a server's cost. */
  readonly warmUp: readonly BenchServer[];
  readonly servers: readonly BenchServer[];
}

export async function heapBytes(): Promise<number> {
  // Objects freed by one collection may have kept others alive.
  for (let turn = 0; turn < 4; turn += 1) {
    await pause(50);
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}

type Opener = (contender: Contender, servers: readonly BenchServer[]) => Promise<Fleet>;

async function weigh(task: MemoryTask, open: Opener): Promise<unknown> {
  const contender = await entryOf(task.contender).load();
  const first = await open(contender, task.warmUp);
  // Modules that load in the background are not a server's cost.
  await pause(2_000);
  const before = await heapBytes();
  const second = await open(contender, task.servers);
  const bytes = (await heapBytes()) - before;
  await Promise.all([first.close(), second.close()]);
  return { heap: bytes / task.servers.length / 1024 };
}

const liveCount = 100;
const dormantCount = 1_000;
const warmUpCount = 10;
const rounds = { full: 3, quick: 2 };

const liveWork: Work = {
  name: 'heap-http',
  measures: [measure('heap', `heap per live HTTP server, ${liveCount}`, 'KB')],
  rounds,
  async run(context) {
    const host = await startHttpServers();
    const many = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, index) => host.server(`${prefix}${index}`));
    const task = { warmUp: many('warm', warmUpCount), servers: many('server', liveCount) };
    try {
      return await isolatedRounds(context, liveWork, (contender) => ({ ...task, contender }));
    } finally {
      await host.stop();
    }
  },
  job: (task: MemoryTask) =>
    weigh(task, async ({ open }, servers) => {
      const fleet = open(servers);
      await Promise.all(servers.map(({ name }) => fleet.listed(name)));
      return fleet;
    }),
};

const dormantWork: Work = {
  name: 'heap-dormant',
  measures: [measure('heap', `heap per dormant server, ${dormantCount}`, 'KB', below(12))],
  rounds,
  run(context) {
    const servers = stdioServers(dormantCount);
    const warmUp = servers.slice(0, warmUpCount);
    return isolatedRounds(context, dormantWork, (contender) => ({ contender, warmUp, servers }));
  },
  async job(task: MemoryTask) {
    const { openDormant } = await entryOf(task.contender).load();
    if (openDormant === undefined) return { heap: null };
    return weigh(task, (_contender, servers) => openDormant(servers));
  },
};

export const memoryWorks: readonly Work[] = [liveWork, dormantWork];
