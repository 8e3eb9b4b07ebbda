/**
 * From nothing running to all tools listed. The import is over by then; it is measured apart.
 * Who loads the SDK late pays for it here instead, so one server is also measured with the import.
 *
 * By hand, every server is waited for alone. With one `Promise.all` around everything, the one
 * that hangs would keep the tools of all others back until its request times out after 60 s.
 */

import type { BenchServer } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { startHttpServers, stdioServer } from '../servers.ts';
import { isolatedRounds, measure, ratioAtMost, type Work } from '../work.ts';

interface StartTask {
  readonly contender: string;
  readonly servers: readonly BenchServer[];
  /** Names of those that will never answer. */
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

interface StartSetup {
  readonly name: string;
  readonly carrier: 'stdio' | 'http';
  readonly count: number;
  readonly rounds: Work['rounds'];
  readonly waitMs?: number;
  readonly oneHangs?: boolean;
  readonly withImport?: boolean;
}

// A tenth is what one round differs from the next without a reason.
const startBound = 1.1;
// Servers that wait hide what a start costs; only a start that waits for another's end shows.
const waitingBound = 1.1;

function serverOptions({ waitMs }: StartSetup, hangs: boolean): readonly string[] {
  if (hangs) return ['hang', '1'];
  return waitMs === undefined ? [] : ['delay', String(waitMs)];
}

function titleOf({ carrier, count, waitMs, oneHangs = false }: StartSetup): string {
  const what = carrier === 'http' ? 'HTTP endpoint' : 'stdio server';
  const plural = count === 1 ? '' : 's';
  const wait = waitMs === undefined ? '' : ` that wait ${waitMs} ms`;
  return `cold start, ${count} ${what}${plural}${wait}${oneHangs ? ', one hangs' : ''}`;
}

function startWork(setup: StartSetup): Work {
  const { name, carrier, count, rounds, waitMs, oneHangs = false, withImport = false } = setup;
  const title = titleOf(setup);
  const target = ratioAtMost(waitMs === undefined ? startBound : waitingBound);
  return {
    name,
    measures: [
      ...(count > 1 ? [measure('first', `${title}: first`, 'ms')] : []),
      measure('all', `${title}: all`, 'ms', target),
      ...(withImport ? [measure('withImport', `import and ${title}`, 'ms', target)] : []),
    ],
    rounds,
    async run(context) {
      const host = carrier === 'http' ? await startHttpServers() : undefined;
      // In the middle, so that it hinders those after it.
      const hanging = oneHangs ? [`server${Math.floor(count / 2)}`] : [];
      const servers = Array.from({ length: count }, (_, index): BenchServer => {
        const server = `server${index}`;
        const [key, value] = serverOptions(setup, hanging.includes(server));
        if (host === undefined)
          return stdioServer(server, key === undefined ? [] : [`--${key}`, value ?? '']);
        return host.server(server, key === undefined ? '' : `?${key}=${value}`);
      });
      try {
        return await isolatedRounds(context, name, (contender) => ({
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
}

const few = { full: 3, quick: 2 };
const some = { full: 5, quick: 3 };

export const startWorks: readonly Work[] = [
  startWork({
    name: 'start-1',
    carrier: 'stdio',
    count: 1,
    rounds: { full: 9, quick: 3 },
    withImport: true,
  }),
  startWork({ name: 'start-10', carrier: 'stdio', count: 10, rounds: some }),
  startWork({ name: 'start-30', carrier: 'stdio', count: 30, rounds: few }),
  startWork({ name: 'start-http-100', carrier: 'http', count: 100, rounds: some }),
  startWork({ name: 'start-wait-1', carrier: 'stdio', count: 1, rounds: some, waitMs: 500 }),
  startWork({ name: 'start-wait-10', carrier: 'stdio', count: 10, rounds: few, waitMs: 500 }),
  startWork({ name: 'start-wait-30', carrier: 'stdio', count: 30, rounds: few, waitMs: 500 }),
  startWork({ name: 'start-wait-http-100', carrier: 'http', count: 100, rounds: few, waitMs: 500 }),
  startWork({ name: 'start-hang-10', carrier: 'stdio', count: 10, rounds: few, oneHangs: true }),
  startWork({ name: 'start-hang-30', carrier: 'stdio', count: 30, rounds: few, oneHangs: true }),
  startWork({
    name: 'start-hang-http-100',
    carrier: 'http',
    count: 100,
    rounds: few,
    oneHangs: true,
  }),
];
