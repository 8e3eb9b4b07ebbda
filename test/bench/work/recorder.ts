/**
 * The cost of recording the charts: the same calls without recording, recorded, and recorded with a
 * reader. A call sends its server's chart two events: one when it begins, one when it ends.
 */

import type { TroupeSnapshot } from '../../../src/domain/host/status.ts';
import type { Troupe } from '../../../src/runtime/troupe.ts';
import type { StdioServer } from '../contender.ts';
import { stdioServer } from '../servers.ts';
import { median } from '../statistics.ts';
import { below, measure, ownRounds, turnsOf, type Values, type Work } from '../work.ts';

const callsInBlock = 1_000;
// Enough for the compiler, and for medians that hold.
const blocks = 16;
const warmUpBlocks = 4;
const cyclesInBlock = 20_000;
const cycleBlocks = 24;
const eventsPerCall = 2;
const limitMs = 120_000;

// The first lacks the option: `off` beside it shows the noise, and that `off` costs nothing.
const ways: readonly string[] = ['without', 'off', 'on', 'watched'];

async function job({ command, args }: Pick<StdioServer, 'command' | 'args'>): Promise<Values> {
  const { createTroupe } = await import('../../../src/index.ts');
  const mcpServers = { echo: { command, args } };
  const troupes = new Map(
    ways.map((way) => {
      const inspect = way === 'without' ? {} : { inspect: way !== 'off' };
      return [way, createTroupe({ settings: { mcpServers }, ...inspect })];
    }),
  );
  let read = 0;
  const watched = troupes.get('watched')?.inspection;
  watched?.follow(() => {
    read = watched.records(read + 1, 10_000).at(-1)?.n ?? read;
  });
  for (const troupe of troupes.values())
    await troupe.waitFor('echo', 'ready', { timeoutMs: 20_000 });
  const times = await callTimes(troupes);
  if (watched === undefined || read !== watched.last) throw new Error('Not all was read.');
  const truth = (troupes.get('off') as Troupe).snapshot();
  await Promise.all([...troupes.values()].map((troupe) => troupe.stop()));
  const [without = 0, off = 0, on = 0, along = 0] = times;
  const event = (on - off) / eventsPerCall;
  return { off, on, watched: along, offRatio: off / without, event, ...(await cycleTimes(truth)) };
}

/** CPU of a call, way by way, in turns. */
async function callTimes(troupes: ReadonlyMap<string, Troupe>): Promise<readonly number[]> {
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
  return ways.map((way) => median(times.get(way) ?? []));
}

/** A chart that does nothing but go to and fro, plain and recorded, in turns. */
async function cycleTimes(truth: TroupeSnapshot): Promise<Values> {
  const { createActor, createMachine } = await import('xstate');
  const { Recorder } = await import('../../../src/recorder/recorder.ts');
  const { realClock: clock } = await import('../../../src/runtime/real-clock.ts');
  const machine = createMachine({
    initial: 'here',
    states: { here: { on: { go: 'there' } }, there: { on: { go: 'here' } } },
  });
  const [counted, plain, recorded] = [1, 2, 3].map(() => createActor(machine).start());
  let inspected = 0;
  counted?.system.inspect(() => {
    inspected += 1;
  });
  counted?.send({ type: 'go' });
  if (recorded !== undefined)
    new Recorder({ clock, report: console.error }).attach(recorded, truth);
  const times = new Map<unknown, number[]>([plain, recorded].map((actor) => [actor, []]));
  for (let round = 0; round < cycleBlocks; round += 1) {
    for (const actor of round % 2 === 0 ? [plain, recorded] : [recorded, plain]) {
      const from = performance.now();
      for (let done = 0; done < cyclesInBlock; done += 1) actor?.send({ type: 'go' });
      const took = ((performance.now() - from) / cyclesInBlock) * 1_000;
      if (round >= warmUpBlocks) times.get(actor)?.push(took);
    }
  }
  const [cycle = 0, cycleOn = 0] = [plain, recorded].map((it) => median(times.get(it) ?? []));
  return { cycle, cycleOn, inspected: (cycleOn - cycle) / inspected };
}

export const recorderWork: Work = {
  name: 'recorder',
  measures: [
    measure('off', 'echo over stdio, nothing recorded, CPU per call', 'us'),
    measure('on', 'the same, recorded', 'us'),
    measure('watched', 'the same, recorded and read along', 'us'),
    measure('offRatio', 'nothing recorded, times the same without the option', '', below(1.02)),
    measure('event', 'what recording adds to an event of a chart', 'us', below(2)),
    measure('cycle', 'an event of the smallest chart, nothing recorded', 'us'),
    measure('cycleOn', 'the same, recorded', 'us'),
    measure('inspected', 'what recording adds to each thing that XState tells', 'us', below(2)),
  ],
  rounds: { full: 5, quick: 3 },
  run: (context) => ownRounds(context, recorderWork, stdioServer('echo'), limitMs),
  job,
};
