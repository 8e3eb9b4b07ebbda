/**
 * From nothing running to all tools listed. The import is over by then and measured apart. A
 * contender that loads the SDK late pays for it here instead, so one server is also measured
 * with the import.
 *
 * The baseline waits for every server separately. With one `Promise.all` around everything, a
 * hanging server would hold back the tools of all others until its request times out after 60 s.
 */

import type { BenchServer } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { startHttpServers, stdioServer } from '../servers.ts';
import { isolatedRounds, measure, ratioAtMost, type Work } from '../work.ts';

interface StartTask {
  readonly contender: string;
  readonly servers: readonly BenchServer[];
  /** Names of servers that never answer. */
  readonly hanging: readonly string[];
}

async function job({ contender, servers, hanging }: StartTask): Promise<unknown> {
  const begin = performance.now();
  const { open } = await entryOf(contender).load();
  const from = performance.now();
  const fleet = open(servers);
  const names = servers.map(({ name }) => name).filter((name) => !hanging.includes(name));
  const listed = names.map((name) => fleet.listed(name));
  await Promise.any(listed);
  const first = performance.now() - from;
  await Promise.all(listed);
  const end = performance.now();
  await fleet.close();
  return { first, all: end - from, withImport: end - begin };
}

interface Special {
  /** How long each server waits before it answers `initialize`. */
  readonly waitMs?: number;
  readonly oneHangs?: boolean;
}

// Rounds differ by a tenth by chance.
const target = ratioAtMost(1.1);

function startWork(
  name: string,
  carrier: 'stdio' | 'http',
  count: number,
  rounds: Work['rounds'],
  { waitMs = 0, oneHangs = false }: Special = {},
): Work {
  const what = `${carrier === 'http' ? 'HTTP endpoint' : 'stdio server'}${count === 1 ? '' : 's'}`;
  const wait = waitMs === 0 ? '' : ` that wait ${waitMs} ms`;
  const title = `cold start, ${count} ${what}${wait}${oneHangs ? ', one hangs' : ''}`;
  const work: Work = {
    name,
    measures: [
      ...(count > 1 ? [measure('first', `${title}: first`, 'ms')] : []),
      measure('all', `${title}: all`, 'ms', target),
      ...(name === 'start-1' ? [measure('withImport', `import and ${title}`, 'ms', target)] : []),
    ],
    rounds,
    async run(context) {
      const host = carrier === 'http' ? await startHttpServers() : undefined;
      // In the middle, so that it hinders the servers after it.
      const hanging = oneHangs ? [`server${Math.floor(count / 2)}`] : [];
      const servers = Array.from({ length: count }, (_, index): BenchServer => {
        const server = `server${index}`;
        const [key, value] = hanging.includes(server) ? ['hang', 1] : ['delay', waitMs];
        return host === undefined
          ? stdioServer(server, [`--${key}`, String(value)])
          : host.server(server, `?${key}=${value}`);
      });
      try {
        return await isolatedRounds(context, work, (contender) => ({
          contender,
          servers,
          hanging,
        }));
      } finally {
        await host?.stop();
      }
    },
    job,
  };
  return work;
}

const few = { full: 3, quick: 2 };
const some = { full: 5, quick: 3 };
const waiting = { waitMs: 500 };
const hanging = { oneHangs: true };

export const startWorks: readonly Work[] = [
  startWork('start-1', 'stdio', 1, { full: 9, quick: 3 }),
  startWork('start-10', 'stdio', 10, some),
  startWork('start-30', 'stdio', 30, few),
  startWork('start-100', 'stdio', 100, { full: 3, quick: 1 }),
  startWork('start-http-100', 'http', 100, some),
  startWork('start-wait-1', 'stdio', 1, some, waiting),
  startWork('start-wait-10', 'stdio', 10, few, waiting),
  startWork('start-wait-30', 'stdio', 30, few, waiting),
  startWork('start-wait-http-100', 'http', 100, few, waiting),
  startWork('start-hang-10', 'stdio', 10, few, hanging),
  startWork('start-hang-30', 'stdio', 30, few, hanging),
  startWork('start-hang-http-100', 'http', 100, few, hanging),
];
