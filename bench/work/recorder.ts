/**
 * What it costs to record what the charts do: the same calls without, recorded, and recorded with
 * somebody who reads along. A call that is alone tells the chart of its server twice: it began, it ended.
 */

import type { StdioServer } from '../contender.ts';
import { stdioServer } from '../servers.ts';
import { median } from '../statistics.ts';
import { ownRounds, turnsOf, type Values, type Work } from '../work.ts';

const callsInBlock = 300;
// Enough for the compiler, and for medians that hold.
const blocks = 14;
const warmUpBlocks = 4;
const eventsPerCall = 2;
const limitMs = 120_000;

const ways: readonly string[] = ['off', 'on', 'watched'];

async function job({ command, args }: Pick<StdioServer, 'command' | 'args'>): Promise<Values> {
  const { createTroupe } = await import('../../src/index.ts');
  const mcpServers = { echo: { command, args } };
  const troupes = new Map(
    ways.map((way) => [way, createTroupe({ settings: { mcpServers }, inspect: way !== 'off' })]),
  );
  let read = 0;
  const watched = troupes.get('watched')?.inspection;
  watched?.follow(() => {
    read = watched.records(read + 1, 10_000).at(-1)?.n ?? read;
  });
  for (const troupe of troupes.values())
    await troupe.waitFor('echo', 'ready', { timeoutMs: 20_000 });
  const times = new Map<string, number[]>(ways.map((way) => [way, []]));
  for (let round = 0; round < blocks; round += 1) {
    for (const way of turnsOf(ways, round)) {
      const from = process.cpuUsage();
      for (let done = 0; done < callsInBlock; done += 1)
        await troupes.get(way)?.callServerTool('echo', 'echo', { text: 'a short text' });
      const { user, system } = process.cpuUsage(from);
      if (round >= warmUpBlocks) times.get(way)?.push((user + system) / callsInBlock);
    }
  }
  if (watched === undefined || read !== watched.last) throw new Error('Not all was read.');
  await Promise.all([...troupes.values()].map((troupe) => troupe.stop()));
  const [off = 0, on = 0, along = 0] = ways.map((way) => median(times.get(way) ?? []));
  return { off, on, watched: along, event: (on - off) / eventsPerCall };
}

export const recorderWork: Work = {
  name: 'recorder',
  measures: [
    { id: 'off', title: 'echo over stdio, nothing recorded, CPU per call', unit: 'us' },
    { id: 'on', title: 'the same, recorded', unit: 'us' },
    { id: 'watched', title: 'the same, recorded and read along', unit: 'us' },
    {
      id: 'event',
      title: 'what recording adds to an event of a chart',
      unit: 'us',
      target: { of: 'value', below: 2 },
    },
  ],
  rounds: { full: 5, quick: 3 },
  run: (context) => ownRounds(context, recorderWork, stdioServer('echo'), limitMs),
  job,
};
