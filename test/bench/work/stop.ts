/** The stop of fifty servers that ignore both the end of their input and SIGTERM. */

import { randomUUID } from 'node:crypto';
import { killAll, processesWith, survivorsOf } from '../../lab/processes.ts';
import type { BenchServer } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { stdioServers } from '../servers.ts';
import { always, atMost, below, isolatedRounds, measure, type Work } from '../work.ts';

interface StopTask {
  readonly contender: string;
  readonly servers: readonly BenchServer[];
  /** An argument of every server, to find its process. */
  readonly mark: string;
}

async function job({ contender, servers, mark }: StopTask): Promise<unknown> {
  const fleet = (await entryOf(contender).load()).open(servers);
  await Promise.all(servers.map(({ name }) => fleet.listed(name)));
  const from = performance.now();
  await fleet.close();
  const time = performance.now() - from;
  // The kernel may need a moment to remove a killed process.
  const left = await survivorsOf(() => processesWith(mark, 'cmdline'), 100);
  killAll(left);
  return { time, left: left.length };
}

const count = 50;
const title = `stop of ${count} stubborn stdio servers`;

export const stopWork: Work = {
  name: 'stop-stubborn-50',
  measures: [
    measure('time', title, 'ms', always(below(5_000))),
    measure('left', `${title}: processes left over`, '', always(atMost(0))),
  ],
  rounds: { full: 3, quick: 1 },
  run(context) {
    return isolatedRounds(context, stopWork, (contender) => {
      const mark = randomUUID();
      const servers = stdioServers(count, ['--stubborn', '--mark', mark]);
      return { contender, servers, mark };
    });
  },
  job,
};
