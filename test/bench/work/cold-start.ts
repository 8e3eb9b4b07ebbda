/**
 * From nothing running to all tools listed. The import is over by then and measured apart. A
 * contender that loads the SDK late pays for it here instead, so one server is also measured
 * with the import.
 *
 * The baseline waits for every server separately. With one `Promise.all` around everything, a
 * hanging server would hold back the tools of all others until its request times out after 60 s.
 */

import type { BenchServer, Fleet } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { sdkServer, startHttpServers, stdioServer } from '../servers.ts';
import { isolatedRounds, measure, ratioAtMost, timed, type Work } from '../work.ts';

interface StartTask {
  readonly contender: string;
  readonly servers: readonly BenchServer[];
  /** Names of servers that never answer. */
  readonly hanging: readonly string[];
}

async function job({ contender, servers, hanging }: StartTask): Promise<unknown> {
  const begin = performance.now();
  const { open } = await entryOf(contender).load();
  const names = servers.map(({ name }) => name).filter((name) => !hanging.includes(name));
  let fleet: Fleet | undefined;
  let end = 0;
  const { result, ms, cpuMs } = await timed(async () => {
    const opened = open(servers);
    fleet = opened;
    const from = performance.now();
    const listed = names.map((name) => opened.listed(name));
    await Promise.any(listed);
    const first = performance.now() - from;
    await Promise.all(listed);
    end = performance.now();
    return first;
  });
  await fleet?.close();
  return { first: result, all: ms, cpu: cpuMs, withImport: end - begin };
}

interface Start {
  readonly title: string;
  readonly count: number;
  /** The required ratio of the time until all are listed. */
  readonly most?: number;
  readonly carrier?: 'lite' | 'sdk' | 'http';
  /** How long each server waits before it answers `initialize`. */
  readonly waitMs?: number;
  readonly oneHangs?: boolean;
}

function startWork(name: string, start: Start, rounds: Work['rounds']): Work {
  const { count, most, carrier = 'lite', waitMs = 0, oneHangs = false } = start;
  const title = `cold start, ${start.title}`;
  const isOne = count === 1;
  const work: Work = {
    name,
    measures: [
      ...(isOne ? [] : [measure('first', `${title}: first`, 'ms')]),
      measure('all', `${title}: all`, 'ms', most === undefined ? undefined : ratioAtMost(most)),
      measure('cpu', `${title}: all, CPU`, 'ms'),
      ...(isOne ? [measure('withImport', `import and ${title}`, 'ms')] : []),
    ],
    rounds,
    async run(context) {
      const host = carrier === 'http' ? await startHttpServers() : undefined;
      // In the middle, so that it hinders the servers after it.
      const hanging = oneHangs ? [`server${Math.floor(count / 2)}`] : [];
      const servers = Array.from({ length: count }, (_, index): BenchServer => {
        const server = `server${index}`;
        if (host !== undefined) return host.server(server);
        if (carrier === 'sdk') return sdkServer(server);
        const options = hanging.includes(server) ? ['--hang', '1'] : ['--delay', String(waitMs)];
        return stdioServer(server, options);
      });
      try {
        const taskOf = (contender: string): StartTask => ({ contender, servers, hanging });
        return await isolatedRounds(context, work, taskOf);
      } finally {
        await host?.stop();
      }
    },
    job,
  };
  return work;
}

const some = { full: 7, quick: 3 };

export const startWorks: readonly Work[] = [
  startWork('start-1', { title: '1 stdio server', count: 1 }, { full: 9, quick: 3 }),
  startWork(
    'start-sdk-10',
    { title: '10 stdio servers written with the SDK', count: 10, carrier: 'sdk', most: 1 },
    some,
  ),
  startWork('start-30', { title: '30 stdio servers', count: 30, most: 1.1 }, some),
  startWork(
    'start-wait-10',
    { title: '10 stdio servers that wait 500 ms', count: 10, waitMs: 500, most: 1 },
    some,
  ),
  startWork(
    'start-http-100',
    { title: '100 HTTP endpoints', count: 100, carrier: 'http', most: 1.1 },
    some,
  ),
  startWork(
    'start-hang-10',
    { title: '10 stdio servers, one hangs', count: 10, oneHangs: true },
    { full: 3, quick: 2 },
  ),
];
