/** Ten thousand servers: the cost of a plan, an edit of one in a hundred, a snapshot and a status change. */

import { setTimeout as pause } from 'node:timers/promises';

import type { ServerRef } from '../../../machines/troupe/context.ts';
import type { LiveServer } from '../../../src/domain/plan.ts';
import { median } from '../statistics.ts';
import { below, measure, ownRounds, type Work } from '../work.ts';

const count = 10_000;
const changedCount = count / 100;
const isChanged = (index: number): boolean => index % (count / changedCount) === 0;

/** No server starts; every hundredth has new arguments in each edition. */
const settingsOf = (edition: number) => ({
  mcpServers: Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `s${index}`,
      {
        command: 'node',
        args: [`${index}.mjs`, ...(isChanged(index) ? [`${edition}`] : [])],
        env: { A: '1' },
        startup: 'lazy',
      },
    ]),
  ),
});

function medianTime(turns: number, work: (turn: number) => unknown): number {
  const times: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const from = performance.now();
    work(turn);
    times.push(performance.now() - from);
  }
  return median(times);
}

/** The plan alone, from freshly read settings. */
async function planTime(): Promise<number> {
  const { parseSettings } = await import('../../../src/config/parse-settings.ts');
  const { mergeSettings } = await import('../../../src/config/merge-settings.ts');
  const { outcomeOf, passOf, planOf } = await import('../../../machines/troupe/pass.ts');
  const { GroupedMap } = await import('../../../src/policies/grouped-map.ts');
  const editions = [0, 1, 2, 3, 4, 5].map((edition) => {
    const origin = { file: 'host settings', scope: 'api', projectRoot: '/project' } as const;
    return mergeSettings([parseSettings(JSON.stringify(settingsOf(edition)), origin)]).settings;
  });
  const [settings, ...later] = editions as [(typeof editions)[0], ...typeof editions];
  const start = {
    settings,
    trusted: true,
    launchBound: null,
    hostAllowed: null,
    decisions: [],
    live: GroupedMap.of<LiveServer>(),
    actors: GroupedMap.of<ServerRef>(),
    serving: GroupedMap.of<true>(),
    halted: GroupedMap.of<true>(),
    stopWishes: [],
    startWishes: [],
    removed: [],
    knownCatalogs: GroupedMap.of<true>(),
    spawnCount: 0,
    slots: { local: 3, remote: 20 },
    coreCount: 1,
    startupGateMs: 250,
    startedAt: 0,
    seed: 1,
  };
  const { live = start.live } = outcomeOf(start, passOf(start)).facts ?? {};
  // Garbage of the parser is not a cost of the plan.
  globalThis.gc?.();
  return medianTime(later.length, (turn) => {
    const next = { ...start, live, settings: later[turn] ?? settings };
    const steps = planOf(next).filter(({ step }) => step === 'replace').length;
    if (steps !== changedCount) throw new Error(`The plan has ${steps} steps.`);
  });
}

async function job(): Promise<unknown> {
  const plan = await planTime();
  const { createTroupe } = await import('../../../src/index.ts');
  const troupe = createTroupe({ settings: settingsOf(0) });
  await troupe.ready();
  // The start continues after its gate.
  await pause(1_000);
  const snapshot = medianTime(20, () => troupe.snapshot());
  const status = medianTime(100, (turn) => {
    troupe.send({ type: 'server.stop', server: `s${turn}` });
  });
  const before = troupe.snapshot().servers;
  const isApplied = (): boolean =>
    before.every(({ name, generation }) => {
      const hasChanged = troupe.status(name)?.generation !== generation;
      return hasChanged === isChanged(Number(name.slice(1)));
    });
  const from = process.cpuUsage();
  const applied = new Promise<void>((resolve) => {
    troupe.on('reconciled', ({ plan: steps }) => {
      // The pass that starts the new generations is the last one.
      if (!steps.some(({ step }) => step === 'spawn')) return;
      setImmediate(() => {
        if (isApplied()) resolve();
      });
    });
  });
  troupe.send({ type: 'settings.changed', settings: settingsOf(1) });
  await applied;
  const { user, system } = process.cpuUsage(from);
  // No server started, so this process can just exit.
  return { plan, snapshot, status, edit: (user + system) / 1_000 };
}

const title = '10,000 servers';

export const thousandsWork: Work = {
  name: 'servers-10000',
  measures: [
    measure('plan', `${title}, 1 % changed: plan`, 'ms', below(100)),
    measure('edit', `${title}, 1 % changed: read and applied, CPU`, 'ms'),
    measure('snapshot', `${title}: snapshot()`, 'ms'),
    measure('status', `${title}: one changes its status`, 'ms'),
  ],
  rounds: { full: 3, quick: 1 },
  run: (context) => ownRounds(context, thousandsWork, null, 180_000),
  job,
};
