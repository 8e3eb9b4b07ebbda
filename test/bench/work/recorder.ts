/**
 * The cost of recording the charts: the same calls without recording, recorded, and recorded with a
 * reader. A call sends its server's chart two events: one when it begins, one when it ends.
 */

import type { Troupe, TroupeOptions } from '../../../src/index.ts';
import type { StdioServer } from '../contender.ts';
import { importPublished } from '../published.ts';
import { stdioServer } from '../servers.ts';
import { median } from '../statistics.ts';
import { below, measure, ownRounds, turnsOf, type Values, type Work } from '../work.ts';

const callsInBlock = 1_000;
// Enough for the compiler, and for stable medians.
const blocks = 16;
const warmUpBlocks = 4;
const eventsPerCall = 2;

// The first lacks the option: `off` beside it shows the noise, and that `off` costs nothing.
const modes: readonly string[] = ['without', 'off', 'ring', 'on', 'watched'];

/** The library records nothing by default; `troupe up` and `troupe serve` keep 2 MB. */
async function inspectOf(mode: string): Promise<Pick<TroupeOptions, 'inspect'>> {
  if (mode === 'without') return {};
  const { recordedAlways } = await import('../../../src/cli/run/inspect-here.ts');
  return { inspect: mode === 'ring' ? recordedAlways : mode !== 'off' };
}

async function job({ command, args }: Pick<StdioServer, 'command' | 'args'>): Promise<Values> {
  const { createTroupe } = await importPublished();
  const settings = { mcpServers: { echo: { command, args } } };
  const troupes = new Map<string, Troupe>();
  for (const mode of modes)
    troupes.set(mode, createTroupe({ settings, ...(await inspectOf(mode)) }));
  let read = 0;
  const watched = troupes.get('watched')?.inspection;
  watched?.follow(() => {
    read = watched.records(read + 1, 10_000).at(-1)?.n ?? read;
  });
  for (const troupe of troupes.values())
    await troupe.waitFor('echo', 'ready', { timeoutMs: 20_000 });
  const times = await callTimes(troupes);
  if (watched === undefined || read !== watched.last) throw new Error('Not all was read.');
  await Promise.all([...troupes.values()].map((troupe) => troupe.stop()));
  const [without = 0, off = 0, ring = 0, on = 0, along = 0] = times;
  return {
    off,
    ring,
    on,
    watched: along,
    offRatio: off / without,
    ringRatio: ring / without,
    event: (on - off) / eventsPerCall,
  };
}

/** CPU time of a call in each mode, in turns. */
async function callTimes(troupes: ReadonlyMap<string, Troupe>): Promise<readonly number[]> {
  const times = new Map<string, number[]>(modes.map((mode) => [mode, []]));
  for (let round = 0; round < blocks; round += 1) {
    for (const mode of turnsOf(modes, round)) {
      const from = process.cpuUsage();
      for (let done = 0; done < callsInBlock; done += 1)
        await troupes.get(mode)?.callServerTool('echo', 'echo', { text: 'a short text' });
      const { user, system } = process.cpuUsage(from);
      if (round >= warmUpBlocks) times.get(mode)?.push((user + system) / callsInBlock);
    }
  }
  return modes.map((mode) => median(times.get(mode) ?? []));
}

export const recorderWork: Work = {
  name: 'recorder',
  measures: [
    measure('off', 'echo over stdio, nothing recorded, CPU per call', 'us'),
    measure('ring', 'the same, recorded as troupe up and serve do, at most 2 MB', 'us'),
    measure('on', 'the same, recorded', 'us'),
    measure('watched', 'the same, recorded and read along', 'us'),
    measure('offRatio', 'nothing recorded, times the same without the option', '', below(1.02)),
    measure(
      'ringRatio',
      'at most 2 MB recorded, times the same without the option',
      '',
      below(1.1),
    ),
    measure('event', 'what recording adds to an event of a chart', 'us', below(2)),
  ],
  rounds: { full: 5, quick: 3 },
  run: (context) => ownRounds(context, recorderWork, stdioServer('echo'), 120_000),
  job,
};
