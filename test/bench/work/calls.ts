/**
 * Calls to one server. All contenders live in one process and take turns in short blocks, each
 * with a server of its own, so that the load of the machine affects them alike.
 */

import type { BenchServer, Fleet } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { startHttpServers, stdioServer } from '../servers.ts';
import { percentile } from '../statistics.ts';
import {
  measure,
  type Round,
  ratioAtMost,
  timed,
  turnsOf,
  type Values,
  type Work,
} from '../work.ts';

interface CallPlan {
  readonly tool: 'echo' | 'big';
  /** Sequential calls in each block. */
  readonly sequential: number;
  /** Concurrent calls in each block, 64 in flight; 0 = none. */
  readonly crowded: number;
  /** The required ratio of the median time, and of the calls per second in flight. */
  readonly most: number;
  readonly least?: number;
}

interface CallTask extends CallPlan {
  readonly rounds: number;
  readonly servers: Readonly<Record<string, BenchServer>>;
}

export const inFlight = 64;
const mebibyte = 1024 * 1024;
// The longest of these works takes a fifth of this on an idle machine.
const limitMs = 300_000;

export async function oneByOne(call: () => Promise<unknown>, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let done = 0; done < count; done += 1) {
    const from = performance.now();
    await call();
    times.push(performance.now() - from);
  }
  return times;
}

/** Keeps 64 calls in flight and returns the calls per second. */
export async function crowd(call: () => Promise<unknown>, count: number): Promise<number> {
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      await call();
    }
  };
  const from = performance.now();
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (count / (performance.now() - from)) * 1_000;
}

async function block(
  call: () => Promise<unknown>,
  { sequential, crowded }: CallPlan,
): Promise<Values> {
  const alone = await timed(() => oneByOne(call, sequential));
  const values = {
    p50: percentile(alone.result, 0.5),
    p99: percentile(alone.result, 0.99),
    cpu: (alone.cpuMs * 1_000) / sequential,
  };
  if (crowded === 0) return values;
  const together = await timed(() => crowd(call, crowded));
  const crowdCpu = (together.cpuMs * 1_000) / crowded;
  return { ...values, throughput: together.result, crowdCpu };
}

async function job(task: CallTask): Promise<readonly Round[]> {
  const args = task.tool === 'echo' ? { text: 'a short text' } : {};
  const fleets = new Map<string, Fleet>();
  for (const [name, server] of Object.entries(task.servers)) {
    const fleet = (await entryOf(name).load()).open([server]);
    await fleet.listed(server.name);
    fleets.set(name, fleet);
  }
  const rounds: Round[] = [];
  // Two rounds more than requested: the compiler is still at work in the first ones.
  for (let round = 0; round < task.rounds + 2; round += 1) {
    const values: Record<string, Values> = {};
    for (const name of turnsOf([...fleets.keys()], round)) {
      const fleet = fleets.get(name) as Fleet;
      values[name] = await block(() => fleet.call('echo', task.tool, args), task);
    }
    rounds.push(values);
  }
  await Promise.all([...fleets.values()].map((fleet) => fleet.close()));
  return rounds.slice(2);
}

function measuresOf(title: string, { tool, most, least = 0 }: CallPlan): Work['measures'] {
  if (tool === 'big') return [measure('p50', `${title}, p50`, 'ms', ratioAtMost(most))];
  const together = `${title}, ${inFlight} in flight`;
  return [
    measure('p50', `${title}, p50`, 'ms', ratioAtMost(most)),
    measure('p99', `${title}, p99`, 'ms'),
    // Other work on the machine affects CPU time less than elapsed time.
    measure('cpu', `${title}, CPU of the client per call`, 'us'),
    measure('throughput', together, 'calls/s', { of: 'ratio', atLeast: least }),
    measure('crowdCpu', `${together}, CPU of the client per call`, 'us'),
  ];
}

function callWork(
  name: string,
  title: string,
  carrier: 'stdio' | 'http',
  plan: CallPlan,
  rounds: Work['rounds'],
): Work {
  return {
    name,
    measures: measuresOf(title, plan),
    rounds,
    async run(context) {
      const stops: (() => Promise<void>)[] = [];
      const servers: Record<string, BenchServer> = {};
      const size = ['--big', String(mebibyte)];
      try {
        for (const contender of context.contenders) {
          if (carrier === 'http') {
            const host = await startHttpServers(size);
            stops.push(() => host.stop());
            servers[contender] = host.server('echo');
          } else servers[contender] = stdioServer('echo', size);
        }
        const task: CallTask = { ...plan, servers, rounds: context.rounds };
        const done = (await context.child(name, task, limitMs)) as readonly Round[] | null;
        return done ?? Array.from({ length: context.rounds }, () => ({}));
      } finally {
        await Promise.all(stops.map((stop) => stop()));
      }
    },
    job,
  };
}

const overStdio: CallPlan = {
  tool: 'echo',
  sequential: 500,
  crowded: 1_280,
  most: 0.9,
  least: 1.5,
};
// What was reached before these targets were set.
const overHttp: CallPlan = { tool: 'echo', sequential: 200, crowded: 640, most: 0.73, least: 1.58 };
const big: CallPlan = { tool: 'big', sequential: 20, crowded: 0, most: 1 };
const some = { full: 10, quick: 4 };

export const callWorks: readonly Work[] = [
  callWork('call-stdio', 'echo over stdio', 'stdio', overStdio, { full: 20, quick: 6 }),
  callWork('call-http', 'echo over HTTP', 'http', overHttp, { full: 12, quick: 4 }),
  callWork('call-big-stdio', '1 MB result over stdio', 'stdio', big, some),
  callWork('call-big-http', '1 MB result over HTTP', 'http', big, some),
];
