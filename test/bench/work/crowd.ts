/**
 * A hundred stdio servers at once: how many starts work at the same time, and whether one waits
 * much longer than the others.
 *
 * A start works while its process runs or waits for a core, as the kernel says. The broker's
 * own count of permits would agree with itself in any case.
 */

import { availableParallelism } from 'node:os';
import { childrenOf, commandOf, stateOf } from '../../lab/processes.ts';
import type { BenchServer, Start } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { stdioServer } from '../servers.ts';
import { median, percentile } from '../statistics.ts';
import { always, atMost, isolatedRounds, measure, type Work } from '../work.ts';

interface CrowdTask {
  readonly contender: string;
  readonly servers: readonly BenchServer[];
}

const everyMs = 5;

/** Counts servers that work, again and again. */
function watchWork(): { end(): readonly number[] } {
  const counts: number[] = [];
  const isServer = new Map<number, boolean>();
  const look = (): void => {
    const working = childrenOf(process.pid).filter((pid) => stateOf(pid) === 'R');
    for (const pid of working) {
      // Between fork and exec it has our own name: asked again until it is a server.
      if (isServer.get(pid) !== true) isServer.set(pid, commandOf(pid).includes('stdio-echo'));
    }
    counts.push(working.filter((pid) => isServer.get(pid) === true).length);
  };
  const timer = setInterval(look, everyMs);
  return {
    end() {
      clearInterval(timer);
      return counts;
    },
  };
}

/** The most that were under way at the same moment, whether they worked or waited. */
function mostAtOnce(starts: readonly Start[]): number {
  return Math.max(
    ...starts.map(
      ({ begunAt }) =>
        starts.filter((other) => other.begunAt <= begunAt && begunAt < other.listedAt).length,
    ),
  );
}

async function job({ contender, servers }: CrowdTask): Promise<unknown> {
  const { open } = await entryOf(contender).load();
  const watch = watchWork();
  const from = performance.now();
  const fleet = open(servers);
  const listed = await Promise.allSettled(servers.map(({ name }) => fleet.listed(name)));
  const all = performance.now() - from;
  const working = watch.end();
  const starts = fleet.starts?.() ?? [];
  await fleet.close();
  const waits = starts.map(({ queuedMs }) => queuedMs);
  return {
    all,
    missing: listed.filter(({ status }) => status === 'rejected').length,
    working: Math.max(...working),
    workingMost: percentile(working, 0.95),
    starting: starts.length === 0 ? servers.length : mostAtOnce(starts),
    wait: waits.length === 0 ? null : Math.max(...waits) / median(waits),
  };
}

const count = 100;
// As `machines/slots.ts` has it.
const permitsPerCore = 8;
const title = `cold start, ${count} stdio servers`;

export const crowdWork: Work = {
  name: 'start-100',
  measures: [
    measure('all', `${title}: all`, 'ms'),
    measure('missing', `${title}: never ready`, '', always(atMost(0))),
    measure(
      'working',
      `${title}: most that work at once`,
      '',
      always(atMost(permitsPerCore * availableParallelism())),
    ),
    measure('workingMost', `${title}: that work at once, 95 % of the time`, ''),
    measure('starting', `${title}: most under way at once`, ''),
    // In a line that moves evenly the last waits twice as long as the one in the middle.
    measure('wait', `${title}: longest wait for a permit / median`, '', atMost(2.5)),
  ],
  rounds: { full: 3, quick: 1 },
  run(context) {
    const servers = Array.from({ length: count }, (_, index) => stdioServer(`server${index}`));
    return isolatedRounds(context, 'start-100', (contender) => ({ contender, servers }), 120_000);
  },
  job,
};
