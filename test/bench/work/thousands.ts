/** Ten thousand servers: the cost of a plan, an edit of one in a hundred, a snapshot and a status change. */

import { setTimeout as pause } from 'node:timers/promises';

import { median } from '../statistics.ts';
import { below, measure, ownRounds, type Work } from '../work.ts';

const count = 10_000;
const changedCount = count / 100;

/** No server starts; every hundredth has new arguments in each edition. */
const settingsOf = (edition: number) => ({
  mcpServers: Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `s${index}`,
      {
        command: 'node',
        args: [`${index}.mjs`, ...(index % (count / changedCount) === 0 ? [`${edition}`] : [])],
        env: { A: '1' },
        startup: 'lazy',
      },
    ]),
  ),
});

async function timeOf(work: () => unknown): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

async function mediansOf(turns: number, work: (turn: number) => unknown): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) times.push(await timeOf(() => work(turn)));
  return median(times);
}

/** The plan alone, from freshly read settings. */
async function planTimes(): Promise<{ readonly plan: number; readonly planCpu: number }> {
  const { parseSettings } = await import('../../../src/config/parse-settings.ts');
  const { mergeSettings } = await import('../../../src/config/merge-settings.ts');
  const { outcomeOf, passOf, planOf } = await import('../../../machines/troupe/pass.ts');
  const read = (edition: number) => {
    const origin = { file: 'host settings', scope: 'api', projectRoot: '/project' } as const;
    return mergeSettings([parseSettings(JSON.stringify(settingsOf(edition)), origin)]).settings;
  };
  const start = {
    settings: read(0),
    trusted: true,
    launchBound: null,
    hostAllowed: null,
    decisions: [],
    live: new Map(),
    serving: [],
    halted: [],
    stopWishes: [],
    startWishes: [],
    removed: [],
    knownCatalogs: [],
    spawnCount: 0,
    slots: { local: 3, remote: 20 },
    coreCount: 1,
    startupGateMs: 250,
    startedAt: 0,
    seed: 1,
  };
  const { live = start.live } = outcomeOf(start, passOf(start)).facts ?? {};
  const times: number[] = [];
  const cpuTimes: number[] = [];
  for (let edition = 1; edition <= 5; edition += 1) {
    const next = { ...start, live, settings: read(edition) };
    let steps = 0;
    // The garbage of reading is no cost of the plan.
    globalThis.gc?.();
    const cpu = process.cpuUsage();
    times.push(
      await timeOf(() => {
        steps = planOf(next).filter(({ step }) => step === 'replace').length;
      }),
    );
    const { user, system } = process.cpuUsage(cpu);
    cpuTimes.push((user + system) / 1_000);
    if (steps !== changedCount) throw new Error(`The plan has ${steps} steps.`);
  }
  return { plan: median(times), planCpu: median(cpuTimes) };
}

async function job(): Promise<unknown> {
  const plan = await planTimes();
  const { createTroupe } = await import('../../../src/index.ts');
  const troupe = createTroupe({ settings: settingsOf(0) });
  await troupe.ready();
  // The start goes on beyond its gate.
  await pause(1_000);
  const snapshot = await mediansOf(20, () => troupe.snapshot());
  const status = await mediansOf(100, (turn) => {
    troupe.send({ type: 'server.stop', server: `s${turn}` });
  });
  const before = new Map(troupe.snapshot().servers.map((it) => [it.name, it.generation]));
  const isApplied = (): boolean =>
    [...before].every(([name, generation]) => {
      const now = troupe.status(name);
      return (now?.generation !== generation) === isChanged(name);
    });
  const from = process.cpuUsage();
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (!isApplied()) return;
      unsubscribe();
      resolve();
    };
    const unsubscribe = troupe.on('reconciled', ({ plan: steps }) => {
      // The last births.
      if (steps.some(({ step }) => step === 'spawn')) setImmediate(look);
    });
    troupe.send({ type: 'settings.changed', settings: settingsOf(1) });
  });
  const used = process.cpuUsage(from);
  // No server started, so this process can just exit.
  return { ...plan, snapshot, status, edit: (used.user + used.system) / 1_000 };
}

const isChanged = (name: string): boolean => Number(name.slice(1)) % (count / changedCount) === 0;

const title = '10,000 servers';

export const thousandsWork: Work = {
  name: 'servers-10000',
  measures: [
    measure('plan', `${title}, 1 % changed: plan`, 'ms', below(100)),
    measure('planCpu', `${title}, 1 % changed: plan, CPU`, 'ms'),
    measure('edit', `${title}, 1 % changed: read and applied, CPU`, 'ms'),
    measure('snapshot', `${title}: snapshot()`, 'ms'),
    measure('status', `${title}: one changes its status`, 'ms'),
  ],
  rounds: { full: 3, quick: 1 },
  run: (context) => ownRounds(context, thousandsWork, null, 180_000),
  job,
};
