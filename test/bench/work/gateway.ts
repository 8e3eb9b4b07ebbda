/**
 * The cost of the gateway: the same client calls the same server over HTTP, once directly and once
 * through `troupe serve`, in short blocks that take turns.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startGateway } from '../../lab/gateway.ts';
import type { Fleet } from '../contender.ts';
import { baseline, entryOf } from '../contenders.ts';
import { publishedCli } from '../published.ts';
import { startHttpServers } from '../servers.ts';
import { median, percentile } from '../statistics.ts';
import { atMost, measure, ownRounds, turnsOf, type Values, type Work } from '../work.ts';
import { crowd, inFlight, oneByOne } from './calls.ts';

interface Route {
  readonly url: string;
  readonly tool: string;
}

const callsInBlock = 100;
// Enough for the compiler, and for stable medians.
const blocks = 8;

async function job(routes: Readonly<Record<'direct' | 'ours', Route>>): Promise<Values> {
  const { open } = await entryOf(baseline).load();
  const fleetTo = ({ url }: Route): Fleet => open([{ kind: 'http', name: 'server', url }]);
  const fleets = { direct: fleetTo(routes.direct), ours: fleetTo(routes.ours) };
  const times: Record<'direct' | 'ours', number[]> = { direct: [], ours: [] };
  const rates: number[] = [];
  // Also waits until the gateway has the tool.
  await Promise.all([fleets.direct.listed('server'), fleets.ours.listed('server')]);
  for (let block = 0; block < blocks; block += 1) {
    for (const name of turnsOf(['direct', 'ours'], block) as ('direct' | 'ours')[]) {
      const args = { text: 'a short text' };
      const call = (): Promise<unknown> => fleets[name].call('server', routes[name].tool, args);
      const taken = await oneByOne(call, callsInBlock);
      const rate = name === 'ours' ? [await crowd(call, callsInBlock * 4)] : [];
      // In the first blocks the compilers of all processes are still at work.
      if (block < 2) continue;
      times[name].push(...taken);
      rates.push(...rate);
    }
  }
  await Promise.all([fleets.direct.close(), fleets.ours.close()]);
  const [direct, ours] = [median(times.direct), median(times.ours)];
  return {
    direct,
    ours,
    oursP99: percentile(times.ours, 0.99),
    oursThroughput: median(rates),
    oursRatio: ours / direct,
  };
}

export const gatewayWork: Work = {
  name: 'gateway',
  measures: [
    measure('direct', 'echo over HTTP, directly, p50', 'ms'),
    measure('ours', 'the same through troupe serve, p50', 'ms'),
    measure('oursP99', 'through troupe serve, p99', 'ms'),
    measure('oursThroughput', `through troupe serve, ${inFlight} in flight`, 'calls/s'),
    measure('oursRatio', 'through troupe serve, times the direct call', '', atMost(2.2)),
  ],
  rounds: { full: 8, quick: 3 },
  async run(context) {
    const folder = await mkdtemp(join(tmpdir(), 'mcp-troupe-bench-'));
    const host = await startHttpServers();
    const { url } = host.server('echo');
    const gateway = await startGateway([publishedCli()], folder, { echo: { url } });
    try {
      const routes = {
        direct: { url, tool: 'echo' },
        ours: { url: gateway.url, tool: 'echo__echo' },
      };
      return await ownRounds(context, gatewayWork, routes, 300_000);
    } finally {
      await gateway.stop();
      await host.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
  job,
};
