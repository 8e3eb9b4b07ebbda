/**
 * A second start with the catalogs that the first one stored for thirty servers; now one hangs.
 *
 * The baseline stores nothing, so its time is that of a cold start until the others are listed.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { BenchServer } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { stdioServer, stdioServers } from '../servers.ts';
import { always, atMost, isolatedRounds, measure, type Work } from '../work.ts';

const count = 30;
const title = `warm start, ${count} stdio servers, one hangs`;
const hanging = `server${count / 2}`;

interface WarmTask {
  readonly contender: string;
  readonly servers: readonly BenchServer[];
  readonly folder: string;
  readonly isFirst: boolean;
}

async function job({ contender, servers, folder, isFirst }: WarmTask): Promise<unknown> {
  const { open, openWarm } = await entryOf(contender).load();
  const others = servers.flatMap(({ name }) => (name === hanging ? [] : [name]));
  const from = performance.now();
  const warm = openWarm?.(servers, folder);
  const fleet = warm ?? open(servers);
  await warm?.ready();
  const missing = warm === undefined ? 0 : others.filter((name) => !warm.isShown(name)).length;
  if (warm === undefined || isFirst) await Promise.all(others.map((name) => fleet.listed(name)));
  const ready = performance.now() - from;
  await fleet.close();
  return { ready, missing };
}

export const warmStartWork: Work = {
  name: 'start-warm-30',
  measures: [
    measure('ready', `${title}: the startup gate has passed`, 'ms', always(atMost(300))),
    measure('missing', `${title}: others without tools then`, '', always(atMost(0))),
  ],
  rounds: { full: 5, quick: 2 },
  run(context) {
    const servers = stdioServers(count);
    const oneHangs = servers.map((server) =>
      server.name === hanging ? stdioServer(hanging, ['--hang', '1']) : server,
    );
    // Two processes for each contender, so that only the store is warm.
    const child: typeof context.child = async (work, contender, limitMs) => {
      const folder = await mkdtemp(join(tmpdir(), 'mcp-troupe-bench-'));
      await context.child(work, { contender, servers, folder, isFirst: true }, limitMs);
      const second = { contender, servers: oneHangs, folder, isFirst: false };
      const answer = await context.child(work, second, limitMs);
      await rm(folder, { recursive: true, force: true });
      return answer;
    };
    return isolatedRounds({ ...context, child }, warmStartWork, (contender) => contender);
  },
  job,
};
