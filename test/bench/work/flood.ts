/**
 * Whether a flood from one server delays calls to another: 20,000 notifications as fast as a pipe
 * takes them, during sequential calls to an unrelated server.
 */

import type { BenchServer } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { stdioServer } from '../servers.ts';
import { percentile } from '../statistics.ts';
import { below, isolatedRounds, measure, type Values, type Work } from '../work.ts';

interface FloodTask {
  readonly contender: string;
  readonly noisy: BenchServer;
  readonly quiet: BenchServer;
}

const notifications = 20_000;
// Enough for the compiler before anything is measured.
const warmCalls = 500;
const calmCalls = 300;
// A flood ends in less than a second; a p99 needs the calls of several.
const floods = 5;
const args = { text: 'a short text' };

async function job({ contender, noisy, quiet }: FloodTask): Promise<Values> {
  const { open } = await entryOf(contender).load();
  const fleet = open([noisy, quiet]);
  await Promise.all([fleet.listed(noisy.name), fleet.listed(quiet.name)]);
  const timed = async (): Promise<number> => {
    const from = performance.now();
    await fleet.call(quiet.name, 'echo', args);
    return performance.now() - from;
  };
  for (let count = 0; count < warmCalls; count += 1) await timed();
  const calm: number[] = [];
  for (let count = 0; count < calmCalls; count += 1) calm.push(await timed());
  const flooded: number[] = [];
  for (let count = 0; count < floods; count += 1) {
    let isOver = false;
    // The call that starts the flood is answered after its last notification.
    const flood = fleet.call(noisy.name, 'echo', args).finally(() => {
      isOver = true;
    });
    do flooded.push(await timed());
    while (!isOver);
    await flood;
  }
  await fleet.close();
  const [before, during] = [percentile(calm, 0.99), percentile(flooded, 0.99)];
  return { before, during, delay: during - before };
}

const title = `a call while another server sends ${notifications} notifications`;

export const floodWork: Work = {
  name: 'flood',
  measures: [
    measure('before', 'a call while the other server is quiet, p99', 'ms'),
    measure('during', `${title}, p99`, 'ms'),
    measure('delay', `${title}: later by, p99`, 'ms', below(50)),
  ],
  rounds: { full: 5, quick: 2 },
  run(context) {
    const noisy = stdioServer('noisy', ['--flood', String(notifications)]);
    const quiet = stdioServer('quiet');
    return isolatedRounds(context, floodWork, (contender) => ({ contender, noisy, quiet }));
  },
  job,
};
