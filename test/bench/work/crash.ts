/** `kill -9` of a server: how soon the loss is noticed, and how soon a call succeeds again. */

import { setTimeout as pause } from 'node:timers/promises';

import type { BenchServer, Fleet } from '../contender.ts';
import { baseline, entryOf } from '../contenders.ts';
import { sdkServer } from '../servers.ts';
import { median } from '../statistics.ts';
import { atMost, isolatedRounds, measure, perhapsNever, type Work } from '../work.ts';

interface CrashTask {
  readonly contender: string;
  readonly servers: readonly BenchServer[];
}

// A contender that takes longer leaves recovery to its caller.
const patienceMs = 10_000;

async function nextGoodCall(fleet: Fleet, server: string): Promise<boolean> {
  const until = performance.now() + patienceMs;
  while (performance.now() < until) {
    try {
      await fleet.call(server, 'echo', { text: 'again' });
      return true;
    } catch {
      await pause(5);
    }
  }
  return false;
}

/** The baseline's time from the start of a server to its first good call. */
async function rawStart(server: BenchServer): Promise<number> {
  const { open } = await entryOf(baseline).load();
  const from = performance.now();
  const fleet = open([server]);
  await fleet.listed(server.name);
  await fleet.call(server.name, 'echo', { text: 'raw' });
  const time = performance.now() - from;
  await fleet.close();
  return time;
}

async function job({ contender, servers }: CrashTask): Promise<unknown> {
  const { open } = await entryOf(contender).load();
  const fleet = open(servers);
  await Promise.all(servers.map(({ name }) => fleet.listed(name)));
  const [{ name }] = servers as [BenchServer];
  await fleet.call(name, 'echo', { text: 'before' });
  const pid = fleet.pid?.(name);
  if (pid === undefined) return { seen: null, back: null, beyond: null };
  const lost = fleet.lost?.(name);
  const from = performance.now();
  process.kill(pid, 'SIGKILL');
  await lost;
  const seen = lost === undefined ? null : performance.now() - from;
  const isBack = fleet.reconnects === true && (await nextGoodCall(fleet, name));
  const back = performance.now() - from;
  await fleet.close();
  if (!isBack) return { seen, back: null, beyond: null };
  // The first start loads the client; only the later ones count.
  const starts: number[] = [];
  for (let turn = 0; turn < 4; turn += 1) starts.push(await rawStart(servers[0] as BenchServer));
  return { seen, back, beyond: back - median(starts.slice(1)) };
}

const title = 'kill -9 of a stdio server';

export const crashWork: Work = {
  name: 'crash',
  measures: [
    measure('seen', `${title}: status says so`, 'ms', atMost(100)),
    perhapsNever(measure('back', `${title}: next good call`, 'ms')),
    perhapsNever(
      measure(
        'beyond',
        `${title}: next good call, beyond the server's own start`,
        'ms',
        atMost(60),
      ),
    ),
  ],
  rounds: { full: 9, quick: 3 },
  run(context) {
    const servers = ['server0', 'server1', 'server2'].map(sdkServer);
    return isolatedRounds(context, crashWork, (contender) => ({ contender, servers }));
  },
  job,
};
