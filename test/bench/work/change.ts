/** One of thirty servers gets new settings: how soon the list is right, and what the others notice. */

import type { BenchServer } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { stdioServer } from '../servers.ts';
import { median } from '../statistics.ts';
import { atMost, isolatedRounds, measure, type Work } from '../work.ts';

interface ChangeTask {
  readonly contender: string;
  readonly servers: readonly BenchServer[];
  readonly changes: readonly { readonly server: BenchServer; readonly tool: string }[];
}

async function job({ contender, servers, changes }: ChangeTask): Promise<unknown> {
  const fleet = (await entryOf(contender).load()).open(servers);
  const names = servers.map(({ name }) => name);
  await Promise.all(names.map((name) => fleet.listed(name)));
  const times: number[] = [];
  let others = 0;
  for (const { server, tool } of changes) {
    const before = new Map(names.map((name) => [name, fleet.pid(name)]));
    const from = performance.now();
    await fleet.change(server, tool);
    times.push(performance.now() - from);
    const changed = names.filter((name) => fleet.pid(name) !== before.get(name));
    others += changed.filter((name) => name !== server.name).length;
  }
  await fleet.close();
  return { time: median(times), others };
}

const count = 30;

export const changeWork: Work = {
  name: 'change',
  measures: [
    measure('time', `1 of ${count} stdio servers changed: new list`, 'ms'),
    measure('others', `1 of ${count} stdio servers changed: other pids changed`, '', atMost(0)),
  ],
  rounds: { full: 3, quick: 2 },
  run(context) {
    const servers = Array.from({ length: count }, (_, index) => stdioServer(`server${index}`));
    const changes = [3, 11, 19, 27, 3].map((index, turn) => ({
      server: stdioServer(`server${index}`, ['--tool', `changed${turn}`]),
      tool: `changed${turn}`,
    }));
    return isolatedRounds(context, 'change', (contender) => ({ contender, servers, changes }));
  },
  job,
};
