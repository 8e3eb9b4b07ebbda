/** Heap per server, as the slope between two sizes: what is paid once is no cost of a server. */

import { setTimeout as pause } from 'node:timers/promises';

import type { BenchServer } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { startHttpServers, stdioServers } from '../servers.ts';
import type { Target } from '../statistics.ts';
import { atMost, isolatedRounds, measure, ratioAtMost, type Work } from '../work.ts';

interface MemoryTask {
  readonly contender: string;
  readonly servers: readonly BenchServer[];
  readonly isDormant: boolean;
}

export async function heapBytes(): Promise<number> {
  // Objects freed by one collection may have kept others alive.
  for (let turn = 0; turn < 4; turn += 1) {
    await pause(50);
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}

async function job({ contender, servers, isDormant }: MemoryTask): Promise<unknown> {
  const { open, openDormant } = await entryOf(contender).load();
  // Not null, which would mean that it failed.
  if (isDormant && openDormant === undefined) return 'unsupported';
  const fleet = (isDormant ? await openDormant?.(servers) : undefined) ?? open(servers);
  if (!isDormant) await Promise.all(servers.map(({ name }) => fleet.listed(name)));
  // What is loaded in the background or kept for a moment is not a server's cost.
  await pause(2_000);
  const bytes = await heapBytes();
  await fleet.close();
  return bytes;
}

function heapWork(
  kind: 'stdio' | 'http' | 'dormant',
  [few, many]: readonly [number, number],
  target?: Target,
): Work {
  const what = kind === 'dormant' ? 'dormant server' : `live ${kind} server`;
  const work: Work = {
    name: `heap-${kind}`,
    measures: [measure('heap', `heap per ${what}, from ${few} to ${many}`, 'KB', target)],
    rounds: { full: 3, quick: 1 },
    async run(context) {
      const host = kind === 'http' ? await startHttpServers() : undefined;
      const serversOf = (count: number): readonly BenchServer[] =>
        stdioServers(count).map((server) => host?.server(server.name) ?? server);
      const child: typeof context.child = async (name, contender, limitMs) => {
        const weigh = (count: number): Promise<unknown> =>
          context.child(
            name,
            { contender, servers: serversOf(count), isDormant: kind === 'dormant' },
            limitMs,
          );
        const [before, after] = [await weigh(few), await weigh(many)];
        if (typeof before !== 'number' || typeof after !== 'number') return { heap: null };
        return { heap: (after - before) / (many - few) / 1_024 };
      };
      try {
        return await isolatedRounds({ ...context, child }, work, (contender) => contender);
      } finally {
        await host?.stop();
      }
    },
    job,
  };
  return work;
}

export const memoryWorks: readonly Work[] = [
  heapWork('stdio', [10, 40], ratioAtMost(1.3)),
  heapWork('http', [20, 100]),
  heapWork('dormant', [1_000, 4_000], atMost(6)),
];
