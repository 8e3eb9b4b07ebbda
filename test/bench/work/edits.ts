/** Edits of settings: one of thirty servers changed beside a busy neighbour, and ten thousand edits in a minute. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import type { BenchServer, StdioServer } from '../contender.ts';
import { entryOf } from '../contenders.ts';
import { importPublished } from '../published.ts';
import { stdioServer, stdioServers } from '../servers.ts';
import {
  always,
  atMost,
  below,
  isolatedRounds,
  measure,
  ownRounds,
  ratioAtMost,
  type Work,
} from '../work.ts';
import { heapBytes } from './memory.ts';

interface ChangeTask {
  readonly contender: string;
  readonly servers: readonly BenchServer[];
  readonly changed: BenchServer;
}

const serverCount = 30;
const args = { text: 'a short text' };

/** Changes a server while a neighbour is called without a pause; returns the longest of those calls too. */
async function jobOfChange({ contender, servers, changed }: ChangeTask): Promise<unknown> {
  const fleet = (await entryOf(contender).load()).open(servers);
  await Promise.all(servers.map(({ name }) => fleet.listed(name)));
  const neighbour = servers.at(-1)?.name ?? '';
  // What a start still does in the background, and the compiler.
  await pause(1_500);
  for (let call = 0; call < 200; call += 1) await fleet.call(neighbour, 'echo', args);
  const pids = servers.map(({ name }) => fleet.pid?.(name));
  let longest = 0;
  let isOver = false;
  const calls = async (): Promise<void> => {
    while (!isOver) {
      const from = performance.now();
      await fleet.call(neighbour, 'echo', args);
      longest = Math.max(longest, performance.now() - from);
    }
  };
  const calling = calls();
  const from = performance.now();
  await fleet.change?.(changed);
  const time = performance.now() - from;
  await fleet.replaced?.(changed.name);
  isOver = true;
  await calling;
  const others = servers.filter(
    ({ name }, at) => name !== changed.name && fleet.pid?.(name) !== pids[at],
  ).length;
  await fleet.close();
  return { time, gap: longest, others };
}

/** `how` starts the row's title. The SDK's clients always start the new process first. */
function changeWorkOf(name: string, how: string, isSeamless: boolean): Work {
  const title = `${how} of 1 of ${serverCount} stdio servers`;
  const measures = [
    measure('time', `${title}: listed again`, 'ms', ratioAtMost(1.1)),
    measure('gap', `${title}: longest call of a neighbour`, 'ms', atMost(12)),
    measure('others', `${title}: other servers restarted`, '', always(atMost(0))),
  ];
  const entry = (server: StdioServer): StdioServer => ({ ...server, isSeamless });
  return {
    name,
    measures,
    rounds: { full: 7, quick: 3 },
    run(context) {
      const servers = stdioServers(serverCount).map(entry);
      const changed = entry(stdioServer('server15', ['--tool', 'other']));
      return isolatedRounds(context, { name, measures }, (contender) => ({
        contender,
        servers,
        changed,
      }));
    },
    job: jobOfChange,
  };
}

const changeWorks = [
  changeWorkOf('change-1-of-30', 'change', false),
  changeWorkOf('change-seamless', 'seamless change', true),
];

/** Runs a task with a settings file and removes the file afterwards. */
async function withSettings<Result>(
  task: (file: string, write: (settings: object) => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-troupe-bench-'));
  const file = join(folder, 'troupe.json');
  try {
    return await task(file, (settings) => writeFile(file, JSON.stringify(settings)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface StormTask {
  readonly edits: number;
  readonly durationMs: number;
}

/** Each edit changes the description of one of ten servers and the name of another; none starts. */
const stormSettings = (edit: number, prefix: string) => ({
  mcpServers: Object.fromEntries(
    Array.from({ length: 10 }, (_, index) => [
      `${prefix}${index === 9 ? `last${edit % 7}` : index}`,
      {
        command: 'node',
        args: [`${prefix}${index}`],
        startup: 'lazy',
        ...(index === edit % 9 ? { description: `edit ${edit}` } : {}),
      },
    ]),
  ),
});

const jobOfStorm = ({ edits, durationMs }: StormTask): Promise<unknown> =>
  withSettings(async (file, write) => {
    const { createTroupe } = await importPublished();
    await write(stormSettings(0, 'file'));
    const troupe = createTroupe({ sources: [file], settings: stormSettings(0, 'host') });
    await troupe.ready();
    let passes = 0;
    troupe.on('reconciled', () => {
      passes += 1;
    });
    const from = performance.now();
    let halfway = 0;
    for (let edit = 1; edit <= edits; edit += 1) {
      // The file and the host take turns, so that both sources of edits are busy.
      if (edit % 2 === 0) await write(stormSettings(edit, 'file'));
      else troupe.send({ type: 'settings.changed', settings: stormSettings(edit, 'host') });
      if (edit === Math.floor(edits / 2)) halfway = await heapBytes();
      const aheadMs = (edit / edits) * durationMs - (performance.now() - from);
      if (aheadMs > 1) await pause(aheadMs);
    }
    const passRate = (passes * 1_000) / (performance.now() - from);
    // Longer than any debounce.
    await pause(3_000);
    const growth = ((await heapBytes()) - halfway) / 1_024 / 1_024;
    const wanted = [stormSettings(edits, 'file'), stormSettings(edits - 1, 'host')].flatMap(
      ({ mcpServers }) => Object.keys(mcpServers),
    );
    const found = new Set(troupe.snapshot().servers.map(({ name }) => name));
    const left = (await troupe.plan()).filter(({ step }) => step !== 'keep');
    await troupe.stop();
    const missing = wanted.filter((name) => !found.delete(name)).length;
    return { wrong: missing + found.size + left.length, passRate, growth };
  });

const full: StormTask = { edits: 10_000, durationMs: 60_000 };
// The same rate for ten seconds.
const quick: StormTask = { edits: 1_666, durationMs: 10_000 };
const stormTitle = 'an edit every 6 ms for a minute (--quick: 10 s)';

const stormWork: Work = {
  name: 'edit-storm',
  measures: [
    measure('wrong', `${stormTitle}: servers wrong in the end`, '', always(atMost(0))),
    measure('passRate', `${stormTitle}: passes per second`, '', always(atMost(4))),
    measure('growth', `${stormTitle}: heap of the second half`, 'MB', below(1)),
  ],
  rounds: { full: 1, quick: 1 },
  run: (context) => ownRounds(context, stormWork, context.isQuick === true ? quick : full, 180_000),
  job: jobOfStorm,
};

export const editWorks: readonly Work[] = [...changeWorks, stormWork];
