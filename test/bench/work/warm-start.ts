/**
 * A second start, when the first one left what it had learned of thirty servers; now one hangs.
 *
 * By hand nothing is kept, so its time is that of a cold start until the others are listed.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { BenchServer } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { stdioServer } from '../servers.ts';
import { always, atMost, measure, type Round, turnsOf, type Values, type Work } from '../work.ts';

interface WarmTask {
  readonly contender: string;
  readonly servers: readonly BenchServer[];
  /** Names of those that are to be seen. */
  readonly others: readonly string[];
  readonly folder: string;
  readonly isFirst: boolean;
}

async function job({ contender, servers, others, folder, isFirst }: WarmTask): Promise<unknown> {
  const { open, openWarm } = await entryOf(contender).load();
  const from = performance.now();
  const listAll = async (fleet: { listed(name: string): Promise<void> }): Promise<unknown> =>
    Promise.all(others.map((name) => fleet.listed(name)));
  if (openWarm === undefined) {
    const fleet = open(servers);
    await listAll(fleet);
    const ready = performance.now() - from;
    await fleet.close();
    return { ready, missing: 0 };
  }
  const fleet = openWarm(servers, folder);
  await fleet.ready();
  const ready = performance.now() - from;
  const missing = others.filter((name) => !fleet.isShown(name)).length;
  if (isFirst) await listAll(fleet);
  await fleet.close();
  return { ready, missing };
}

const count = 30;
const title = `warm start, ${count} stdio servers, one hangs`;
const hanging = `server${count / 2}`;
const limitMs = 60_000;

const servers = (doesHang: boolean): readonly BenchServer[] =>
  Array.from({ length: count }, (_, index) => {
    const name = `server${index}`;
    return stdioServer(name, doesHang && name === hanging ? ['--hang', '1'] : []);
  });

export const warmStartWork: Work = {
  name: 'start-warm-30',
  measures: [
    measure('ready', `${title}: the host may go on`, 'ms', always(atMost(300))),
    measure('missing', `${title}: others without tools then`, '', always(atMost(0))),
  ],
  rounds: { full: 5, quick: 2 },
  async run({ contenders, rounds, child }) {
    const done: Round[] = [];
    const others = servers(false).flatMap(({ name }) => (name === hanging ? [] : [name]));
    for (let round = 0; round < rounds; round += 1) {
      const values: Record<string, Values> = {};
      for (const contender of turnsOf(contenders, round)) {
        const folder = await mkdtemp(join(tmpdir(), 'mcp-troupe-bench-'));
        const task = { contender, others, folder };
        // Each in a process of its own: what is warm is the store and nothing else.
        await child('start-warm-30', { ...task, servers: servers(false), isFirst: true }, limitMs);
        const answer = await child(
          'start-warm-30',
          { ...task, servers: servers(true), isFirst: false },
          limitMs,
        );
        values[contender] = (answer as Values | null) ?? {};
        await rm(folder, { recursive: true, force: true });
      }
      done.push(values);
    }
    return done;
  },
  job,
};
