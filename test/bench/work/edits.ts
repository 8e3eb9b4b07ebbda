/** Edits of a settings file: how soon one is applied, and the effect of ten thousand in a minute. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import type { Troupe } from '../../../src/index.ts';
import type { StdioServer } from '../contender.ts';
import { stdioServer, stdioServers } from '../servers.ts';
import { median } from '../statistics.ts';
import { always, atMost, below, measure, ownRounds, type Work } from '../work.ts';
import { heapBytes } from './memory.ts';

// The same as in actors/settings/stream.ts: a deliberate wait is not a cost.
const debounceMs = 300;

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

/** From the end of the debounce until the edited server is ready, without its own start. */
async function timeToApply(
  troupe: Troupe,
  name: string,
  write: () => Promise<void>,
): Promise<number> {
  const before = troupe.status(name)?.generation;
  const from = performance.now();
  const replaced = new Promise<void>((resolve) => {
    const unsubscribe = troupe.on('status.changed', ({ status }) => {
      if (status.name !== name || status.generation === before) return;
      unsubscribe();
      resolve();
    });
  });
  await write();
  await replaced;
  await troupe.waitFor(name, 'ready');
  const total = performance.now() - from - debounceMs;
  const { connectingMs = 0, loadingToolsMs = 0 } = troupe.explain(name)?.attempts.at(-1) ?? {};
  return total - connectingMs - loadingToolsMs;
}

interface EditTask {
  readonly servers: readonly StdioServer[];
  /** New settings of some of these servers, applied one after the other. */
  readonly edits: readonly StdioServer[];
}

const jobOfEdit = ({ servers, edits }: EditTask): Promise<unknown> =>
  withSettings(async (file, write) => {
    const current = new Map(servers.map((server) => [server.name, server]));
    const writeAll = (): Promise<void> => {
      const entries = [...current].map(([name, { command, args }]) => [name, { command, args }]);
      return write({ mcpServers: Object.fromEntries(entries) as object });
    };
    await writeAll();
    const { createTroupe } = await import('../../../src/index.ts');
    const troupe = createTroupe({ sources: [file] });
    await Promise.all(servers.map(({ name }) => troupe.waitFor(name, 'ready')));
    // All watches are set up a second after the start.
    await pause(1_500);
    const pids = new Map(servers.map(({ name }) => [name, troupe.status(name)?.pid]));
    const times: number[] = [];
    for (const edited of edits) {
      current.set(edited.name, edited);
      times.push(await timeToApply(troupe, edited.name, writeAll));
      pids.delete(edited.name);
      await pause(500);
    }
    const others = [...pids].filter(([name, pid]) => troupe.status(name)?.pid !== pid).length;
    await troupe.stop();
    return { applied: median(times), others };
  });

const serverCount = 30;
const editTitle = `edit of 1 of ${serverCount} stdio servers in a file`;

const editWork: Work = {
  name: 'edit',
  measures: [
    // Includes the end of the old process, but not the start of the new one.
    measure('applied', `${editTitle}: ready, beyond debounce and start`, 'ms', below(50)),
    measure('others', `${editTitle}: other servers restarted`, '', always(atMost(0))),
  ],
  rounds: { full: 3, quick: 2 },
  run(context) {
    const edits = [0, 7, 14, 21, 28].map((at) => stdioServer(`server${at}`, ['--tool', `t${at}`]));
    return ownRounds(context, editWork, { servers: stdioServers(serverCount), edits }, 120_000);
  },
  job: jobOfEdit,
};

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
    const { createTroupe } = await import('../../../src/index.ts');
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

export const editWorks: readonly Work[] = [editWork, stormWork];
