/** Stops: of servers that ignore every request to exit, and of many sessions that are terminated one by one. */

import { randomUUID } from 'node:crypto';
import { killAll, processesWith, survivorsOf } from '../../lab/processes.ts';
import type { BenchServer } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { startHttpServers, stdioServers } from '../servers.ts';
import {
  always,
  atMost,
  below,
  isolatedRounds,
  measure,
  ratioAtMost,
  timed,
  type Work,
} from '../work.ts';

interface StopTask {
  readonly contender: string;
  readonly servers: readonly BenchServer[];
  /** An argument of every server, to find its process. */
  readonly mark?: string;
  /** Where an HTTP host says how many sessions are left. */
  readonly sessions?: string;
}

async function job({ contender, servers, mark, sessions }: StopTask): Promise<unknown> {
  const fleet = (await entryOf(contender).load()).open(servers);
  await Promise.all(servers.map(({ name }) => fleet.listed(name)));
  const { ms: time, cpuMs: cpu } = await timed(() => fleet.close());
  if (sessions !== undefined)
    return { time, cpu, left: Number(await (await fetch(sessions)).text()) };
  // The kernel may need a moment to remove a killed process.
  const left = await survivorsOf(() => processesWith(mark ?? '', 'cmdline'), 100);
  killAll(left);
  return { time, left: left.length };
}

const stubbornCount = 50;
const stubborn = `stop of ${stubbornCount} stubborn stdio servers`;

const stubbornWork: Work = {
  name: 'stop-stubborn-50',
  measures: [
    measure('time', stubborn, 'ms', always(below(5_000))),
    measure('left', `${stubborn}: processes left over`, '', always(atMost(0))),
  ],
  rounds: { full: 3, quick: 1 },
  run(context) {
    return isolatedRounds(context, stubbornWork, (contender) => {
      const mark = randomUUID();
      const servers = stdioServers(stubbornCount, ['--stubborn', '--mark', mark]);
      return { contender, servers, mark };
    });
  },
  job,
};

const httpCount = 100;
const terminated = `stop of ${httpCount} HTTP servers, each session terminated`;

const httpWork: Work = {
  name: 'stop-http-100',
  measures: [
    measure('time', terminated, 'ms', ratioAtMost(1.5)),
    measure('cpu', `${terminated}: CPU`, 'ms'),
    measure('left', `${terminated}: sessions left over`, '', always(atMost(0))),
  ],
  rounds: { full: 7, quick: 3 },
  async run(context) {
    // A host for each process, so that none counts the sessions that another leaves.
    const child: typeof context.child = async (name, contender, limitMs) => {
      const host = await startHttpServers();
      const servers = Array.from({ length: httpCount }, (_, at) => host.server(`server${at}`));
      const { sessions } = host;
      const answer = await context.child(name, { contender, servers, sessions }, limitMs);
      await host.stop();
      return answer;
    };
    return isolatedRounds({ ...context, child }, httpWork, (contender) => contender);
  },
  job,
};

export const stopWorks: readonly Work[] = [httpWork, stubbornWork];
