/** Edits of a settings file: how soon one is applied, and what ten thousand in a minute do. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import type { Troupe } from '../../../src/index.ts';
import type { StdioServer } from '../contender.ts';
import { stdioServer } from '../servers.ts';
import { median } from '../statistics.ts';
import { always, atMost, below, measure, ownRounds, type Work } from '../work.ts';
import { heapBytes } from './memory.ts';

// As actors/settings/stream.ts has it: a deliberate wait is not a cost.
const debounceMs = 300;

interface FileOfSettings {
  readonly file: string;
  write(settings: object): Promise<void>;
  remove(): Promise<void>;
}

async function settingsFile(): Promise<FileOfSettings> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-troupe-bench-'));
  const file = join(folder, 'troupe.json');
  return {
    file,
    write: (settings) => writeFile(file, JSON.stringify(settings)),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

const entriesOf = (servers: readonly StdioServer[]) => ({
  mcpServers: Object.fromEntries(
    servers.map(({ name, command, args }) => [name, { command, args }]),
  ),
});

/** Settles when a pass did something. */
function nextPass(troupe: Troupe): Promise<void> {
  return new Promise((resolve) => {
    const unsubscribe = troupe.on('reconciled', () => {
      unsubscribe();
      resolve();
    });
  });
}

/** All in ms. */
interface AppliedTimes {
  /** From the end of the debounce until the edit was planned. */
  readonly pass: number;
  /** From there until the old process was gone and the new one begun. */
  readonly ended: number;
  /** From the end of the debounce until the new one was ready, without its own start. */
  readonly applied: number;
}

async function applyOne(
  troupe: Troupe,
  { name }: StdioServer,
  write: () => Promise<void>,
): Promise<AppliedTimes> {
  const before = troupe.status(name)?.generation;
  const from = performance.now();
  const pass = nextPass(troupe).then(() => performance.now() - from - debounceMs);
  await write();
  await pass;
  while (troupe.status(name)?.generation === before) await nextPass(troupe);
  const begun = performance.now() - from - debounceMs;
  await troupe.waitFor(name, 'ready');
  const total = performance.now() - from - debounceMs;
  const { connectingMs = 0, loadingToolsMs = 0 } = troupe.explain(name)?.attempts.at(-1) ?? {};
  const planned = await pass;
  return {
    pass: planned,
    ended: begun - planned,
    applied: total - connectingMs - loadingToolsMs,
  };
}

interface OneTask {
  readonly servers: readonly StdioServer[];
  /** One of them after the other, with another tool. */
  readonly edits: readonly StdioServer[];
}

async function jobOfOne({ servers: first, edits }: OneTask): Promise<unknown> {
  let servers = first;
  const { createTroupe } = await import('../../../src/index.ts');
  const settings = await settingsFile();
  await settings.write(entriesOf(servers));
  const troupe = createTroupe({ sources: [settings.file] });
  await Promise.all(servers.map(({ name }) => troupe.waitFor(name, 'ready')));
  // What is watched is all set up a second after the start.
  await pause(1_500);
  const times: AppliedTimes[] = [];
  for (const edited of edits) {
    const next = servers.map((server) => (server.name === edited.name ? edited : server));
    times.push(await applyOne(troupe, edited, () => settings.write(entriesOf(next))));
    servers = next;
    await pause(500);
  }
  await troupe.stop();
  await settings.remove();
  return {
    pass: median(times.map(({ pass }) => pass)),
    ended: median(times.map(({ ended }) => ended)),
    applied: median(times.map(({ applied }) => applied)),
  };
}

const serverCount = 30;
const oneTitle = `edit of 1 of ${serverCount} stdio servers in a file, after the debounce`;

const oneWork: Work = {
  name: 'edit',
  measures: [
    measure('pass', `${oneTitle}: planned`, 'ms'),
    measure('ended', `${oneTitle}: then the end of the old process`, 'ms'),
    // The end of the old process is in it, the start of the new one is not.
    measure('applied', `${oneTitle}: ready, beyond its own start`, 'ms', below(50)),
  ],
  rounds: { full: 3, quick: 2 },
  run(context) {
    const servers = Array.from({ length: serverCount }, (_, at) => stdioServer(`server${at}`));
    const edits = [0, 7, 14, 21, 28].map((at) => stdioServer(`server${at}`, ['--tool', `t${at}`]));
    return ownRounds(context, oneWork, { servers, edits }, 120_000);
  },
  job: jobOfOne,
};

interface StormTask {
  readonly edits: number;
  readonly durationMs: number;
}

/** The most of these moments within any second. */
function mostInASecond(times: readonly number[]): number {
  return Math.max(
    0,
    ...times.map((from) => times.filter((time) => time >= from && time < from + 1_000).length),
  );
}

/**
 * Each edit changes the words of one server of ten and the name of another; none of them
 * starts, and none is replaced: every pass that does something is that of an edit.
 */
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

async function jobOfStorm({ edits, durationMs }: StormTask): Promise<unknown> {
  const { createTroupe } = await import('../../../src/index.ts');
  const settings = await settingsFile();
  await settings.write(stormSettings(0, 'file'));
  const troupe = createTroupe({ sources: [settings.file], settings: stormSettings(0, 'host') });
  await troupe.ready();
  const passes: number[] = [];
  troupe.on('reconciled', () => passes.push(performance.now()));
  const from = performance.now();
  let halfway = 0;
  for (let edit = 1; edit <= edits; edit += 1) {
    // A file and a host take turns, so that both sources of edits are busy.
    if (edit % 2 === 0) await settings.write(stormSettings(edit, 'file'));
    else troupe.send({ type: 'settings.changed', settings: stormSettings(edit, 'host') });
    if (edit === Math.floor(edits / 2)) halfway = await heapBytes();
    const aheadMs = (edit / edits) * durationMs - (performance.now() - from);
    if (aheadMs > 1) await pause(aheadMs);
  }
  const seconds = (performance.now() - from) / 1_000;
  // Longer than any wait for calm.
  await pause(3_000);
  const growth = (await heapBytes()) - halfway;
  const wanted = [stormSettings(edits, 'file'), stormSettings(edits - 1, 'host')].flatMap(
    ({ mcpServers }) => Object.keys(mcpServers),
  );
  const found = troupe.snapshot().servers.map(({ name }) => name);
  const left = (await troupe.plan()).filter(({ step }) => step !== 'keep');
  await troupe.stop();
  await settings.remove();
  const missing = wanted.filter((name) => !found.includes(name)).length;
  return {
    wrong: missing + Math.max(0, found.length - wanted.length) + left.length,
    passRate: passes.length / seconds,
    most: mostInASecond(passes),
    rate: edits / seconds,
    growth: growth / 1_024 / 1_024,
  };
}

const full: StormTask = { edits: 10_000, durationMs: 60_000 };
// The same rate for ten seconds.
const quick: StormTask = { edits: 1_666, durationMs: 10_000 };
const stormTitle = 'an edit every 6 ms for a minute (--quick: 10 s)';

const stormWork: Work = {
  name: 'edit-storm',
  measures: [
    measure('wrong', `${stormTitle}: servers wrong in the end`, '', always(atMost(0))),
    measure('passRate', `${stormTitle}: passes per second`, '', always(atMost(4))),
    // A pass counts when its event arrives, which a busy machine delays by up to a second.
    measure('most', `${stormTitle}: most passes in a second`, ''),
    measure('rate', `${stormTitle}: edits per second`, ''),
    measure('growth', `${stormTitle}: heap of the second half`, 'MB', below(1)),
  ],
  rounds: { full: 1, quick: 1 },
  run: (context) => ownRounds(context, stormWork, context.isQuick === true ? quick : full, 180_000),
  job: jobOfStorm,
};

export const editWorks: readonly Work[] = [oneWork, stormWork];
