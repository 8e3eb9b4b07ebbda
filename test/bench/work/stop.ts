/** The end of fifty servers that mind neither the end of their input nor SIGTERM. */

import { randomUUID } from 'node:crypto';
import { killAll, processesWith, survivorsOf } from '../../lab/processes.ts';
import type { BenchServer } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { stdioServer } from '../servers.ts';
import { always, atMost, below, isolatedRounds, measure, type Work } from '../work.ts';

interface StopTask {
  readonly contender: string;
  readonly servers: readonly BenchServer[];
  /** A word in the command line of every server. */
  readonly mark: string;
}

async function job({ contender, servers, mark }: StopTask): Promise<unknown> {
  const fleet = (await entryOf(contender).load()).open(servers);
  await Promise.all(servers.map(({ name }) => fleet.listed(name)));
  const from = performance.now();
  await fleet.close();
  const time = performance.now() - from;
  // The kernel may need a moment to take a killed process away.
  const left = await survivorsOf(() => processesWith(mark, 'cmdline'), 100);
  killAll(left);
  return { time, left: left.length };
}

const count = 50;

export const stopWork: Work = {
  name: 'stop-stubborn-50',
  measures: [
    measure('time', `stop of ${count} stubborn stdio servers`, 'ms', always(below(5_000))),
    measure(
      'left',
      `stop of ${count} stubborn stdio servers: left over then`,
      '',
      always(atMost(0)),
    ),
  ],
  rounds: { full: 3, quick: 1 },
  run(context) {
    return isolatedRounds(context, 'stop-stubborn-50', (contender) => {
      const mark = randomUUID();
      const servers = Array.from({ length: count }, (_, index) =>
        stdioServer(`server${index}`, ['--stubborn', '--mark', mark]),
      );
      return { contender, servers, mark };
    });
  },
  job,
};
