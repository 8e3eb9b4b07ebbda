/**
 * Calls to one server. All contenders live in one process and take turns in short blocks, each
 * with a server of its own, so that the load of the machine hits them alike.
 */

import { createRequire } from 'node:module';

import type { BenchServer, Fleet } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { startHttpServers, stdioServer } from '../servers.ts';
import { percentile, type Target } from '../statistics.ts';
import {
  type Measure,
  measure,
  type Round,
  ratioAtMost,
  turnsOf,
  type Values,
  type Work,
  type WorkContext,
} from '../work.ts';

interface CallPlan {
  readonly tool: string;
  readonly args: Readonly<Record<string, string>>;
  /** Calls one after the other, in each block. */
  readonly sequential: number;
  /** Calls with 64 in flight, in each block; 0 = not done. */
  readonly crowded: number;
}

interface CallTask extends CallPlan {
  readonly rounds: number;
  readonly servers: Readonly<Record<string, BenchServer>>;
}

export const inFlight = 64;
const mebibyte = 1024 * 1024;
// The longest of these works takes a fifth of this on a machine with nothing else to do.
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

/** Keeps 64 calls under way, and returns the calls per second. */
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

/** Runs the work and adds the processor's microseconds, ours alone, for each call. */
async function withCpu<T>(
  count: number,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly cpu: number }> {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return { result, cpu: (user + system) / count };
}

async function block(call: () => Promise<unknown>, plan: CallPlan): Promise<Values> {
  const { sequential, crowded } = plan;
  const alone = await withCpu(sequential, () => oneByOne(call, sequential));
  const values = {
    p50: percentile(alone.result, 0.5),
    p99: percentile(alone.result, 0.99),
    cpu: alone.cpu,
  };
  if (crowded === 0) return values;
  const together = await withCpu(crowded, () => crowd(call, crowded));
  return { ...values, throughput: together.result, crowdCpu: together.cpu };
}

async function job(task: CallTask): Promise<readonly Round[]> {
  const fleets = new Map<string, { fleet: Fleet; call: () => Promise<unknown> }>();
  for (const [name, server] of Object.entries(task.servers)) {
    const fleet = (await entryOf(name).load()).open([server]);
    await fleet.listed(server.name);
    fleets.set(name, { fleet, call: () => fleet.call(server.name, task.tool, task.args) });
  }
  const rounds: Round[] = [];
  // Two rounds more than asked for: in the first ones the compiler still works.
  for (let round = 0; round < task.rounds + 2; round += 1) {
    const values: Record<string, Values> = {};
    for (const name of turnsOf([...fleets.keys()], round)) {
      const call = fleets.get(name)?.call;
      if (call !== undefined) values[name] = await block(call, task);
    }
    rounds.push(values);
  }
  await Promise.all([...fleets.values()].map(({ fleet }) => fleet.close()));
  return rounds.slice(2);
}

interface CallWork extends CallPlan {
  readonly name: string;
  readonly title: string;
  readonly rounds: Work['rounds'];
  /** Whether it must not be slower than the baseline, in anything. */
  readonly hasTargets: boolean;
  /** The most that its time may be of the baseline's, where that is all that is asked. */
  readonly atMost?: number;
  readonly carrier: 'stdio' | 'http' | 'everything';
}

function measuresOf({ title, hasTargets, crowded, atMost }: CallWork): readonly Measure[] {
  const p50 = (target?: Target): Measure => measure('p50', `${title}, p50`, 'ms', target);
  if (atMost !== undefined) return [p50(ratioAtMost(atMost))];
  if (!hasTargets) return [p50()];
  const latencies = [
    p50(ratioAtMost(1)),
    measure('p99', `${title}, p99`, 'ms'),
    // Less moved by other work on the machine than any time is.
    measure('cpu', `${title}, CPU of the client per call`, 'us'),
  ];
  if (crowded === 0) return latencies;
  const together = `${title}, ${inFlight} in flight`;
  return [
    ...latencies,
    measure('throughput', together, 'calls/s', { of: 'ratio', atLeast: 1 }),
    measure('crowdCpu', `${together}, CPU of the client per call`, 'us'),
  ];
}

async function serversFor(
  { carrier }: CallWork,
  contenders: readonly string[],
  stops: (() => Promise<void>)[],
): Promise<Readonly<Record<string, BenchServer>>> {
  const servers: Record<string, BenchServer> = {};
  const size = ['--big', String(mebibyte)];
  for (const contender of contenders) {
    if (carrier === 'http') {
      const host = await startHttpServers(size);
      stops.push(() => host.stop());
      servers[contender] = host.server('echo');
    } else if (carrier === 'stdio') {
      servers[contender] = stdioServer('echo', size);
    } else {
      const file = createRequire(import.meta.url).resolve(
        '@modelcontextprotocol/server-everything/dist/index.js',
      );
      servers[contender] = {
        kind: 'stdio',
        name: 'echo',
        command: process.execPath,
        args: [file, 'stdio'],
      };
    }
  }
  return servers;
}

function callWork(setup: CallWork): Work {
  const { name, rounds, tool, args, sequential, crowded } = setup;
  return {
    name,
    measures: measuresOf(setup),
    rounds,
    async run(context: WorkContext) {
      const stops: (() => Promise<void>)[] = [];
      try {
        const servers = await serversFor(setup, context.contenders, stops);
        const task: CallTask = {
          tool,
          args,
          sequential,
          crowded,
          servers,
          rounds: context.rounds,
        };
        const done = (await context.child(name, task, limitMs)) as readonly Round[] | null;
        return done ?? Array.from({ length: context.rounds }, () => ({}));
      } finally {
        await Promise.all(stops.map((stop) => stop()));
      }
    },
    job,
  };
}

const echo = { tool: 'echo', args: { text: 'a short text' } };
const big = { tool: 'big', args: {}, sequential: 20, crowded: 0, hasTargets: false, atMost: 1.15 };

export const callWorks: readonly Work[] = [
  callWork({
    ...echo,
    name: 'call-stdio',
    title: 'echo over stdio',
    carrier: 'stdio',
    sequential: 500,
    crowded: 1_280,
    rounds: { full: 20, quick: 6 },
    hasTargets: true,
  }),
  callWork({
    ...echo,
    name: 'call-http',
    title: 'echo over HTTP',
    carrier: 'http',
    sequential: 200,
    crowded: 640,
    rounds: { full: 12, quick: 4 },
    hasTargets: true,
  }),
  callWork({
    ...big,
    name: 'call-big-stdio',
    title: '1 MB result over stdio',
    carrier: 'stdio',
    rounds: { full: 10, quick: 4 },
  }),
  callWork({
    ...big,
    name: 'call-big-http',
    title: '1 MB result over HTTP',
    carrier: 'http',
    rounds: { full: 10, quick: 4 },
  }),
  callWork({
    tool: 'echo',
    args: { message: 'a short text' },
    name: 'call-everything',
    title: 'echo of server-everything over stdio',
    carrier: 'everything',
    sequential: 200,
    crowded: 0,
    rounds: { full: 10, quick: 4 },
    hasTargets: false,
  }),
];
