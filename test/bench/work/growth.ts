/**
 * Dormant servers by the thousand: how the cost of a start, of an edit of one server, of one
 * status change and of a stop grows from 10 servers to 10,000, and how long the event loop stands
 * still during the edit.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { importPublished } from '../published.ts';
import { median } from '../statistics.ts';
import {
  atMost,
  type Measure,
  measure,
  ownRounds,
  timed,
  type Values,
  type Work,
} from '../work.ts';

const sizes = [10, 100, 1_000, 10_000] as const;
const largest = 10_000;
const edits = 3;
const statusChanges = 20;

/** No server starts. An edition differs from the one before in one server. */
const settingsOf = (count: number, edition: number) => ({
  mcpServers: Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `s${index}`,
      {
        command: 'node',
        args: [index === count / 2 ? `${index}-${edition}.mjs` : `${index}.mjs`],
        startup: 'lazy',
      },
    ]),
  ),
});

async function job(count: number): Promise<unknown> {
  const { createTroupe } = await importPublished();
  const editions = Array.from({ length: edits + 1 }, (_, edition) => settingsOf(count, edition));
  const begin = process.cpuUsage();
  const troupe = createTroupe({ settings: editions[0] ?? {} });
  await troupe.ready();
  while (troupe.snapshot().servers.length < count) await nextTurn();
  const { user, system } = process.cpuUsage(begin);
  const start = (user + system) / 1_000;
  // The start continues after its gate.
  await pause(1_500);
  const edited = `s${count / 2}`;
  const passes: number[] = [];
  const blocks: number[] = [];
  for (const settings of editions.slice(1)) {
    const before = troupe.status(edited)?.generation;
    const applied = new Promise<void>((resolve) => {
      const unsubscribe = troupe.on('status.changed', ({ status }) => {
        if (status.name !== edited || status.generation === before) return;
        unsubscribe();
        resolve();
      });
    });
    // Garbage of the parser of this bench is not a cost of the edit.
    globalThis.gc?.();
    // One per edit: a monitor enabled again records the time it was disabled as a delay. It needs
    // a first tick before the edit, from which it measures the next.
    const delays = monitorEventLoopDelay({ resolution: 1 });
    delays.enable();
    await pause(20);
    const { cpuMs } = await timed(async () => {
      troupe.send({ type: 'settings.changed', settings });
      await applied;
      await nextTurn();
    });
    await pause(20);
    delays.disable();
    passes.push(cpuMs);
    blocks.push(delays.max / 1e6);
  }
  const snapshot = await timed(() => troupe.snapshot());
  const changes = await timed(async () => {
    for (let turn = 0; turn < statusChanges; turn += 1) {
      troupe.send({ type: 'server.stop', server: `s${turn % count}` });
      await nextTurn();
    }
  });
  const stop = await timed(() => troupe.stop());
  return {
    start,
    edit: median(passes),
    block: Math.max(...blocks),
    status: changes.cpuMs / statusChanges,
    snapshot: snapshot.ms,
    stop: stop.ms,
  };
}

const title = `${largest} dormant servers`;
const steps = sizes.slice(1).map((to, at) => [sizes[at] as number, to] as const);
const grown = { start: 'start', edit: 'edit of one', status: 'status change of one', stop: 'stop' };
const grownIds = Object.keys(grown) as readonly (keyof typeof grown)[];

/** How an operation grows with ten times the servers: 1 is linear, 2 is quadratic. */
const exponents = grownIds.flatMap((id) =>
  steps.map(([from, to]) => ({ id, from, to, key: `${id}-from-${from}` })),
);

const measures: readonly Measure[] = [
  measure('start', `${title}: start, CPU`, 'ms'),
  measure('edit', `${title}: edit of one, CPU`, 'ms', atMost(100)),
  measure('block', `${title}: edit of one, longest block of the event loop`, 'ms', atMost(20)),
  measure('status', `${title}: status change of one, CPU`, 'ms'),
  measure('snapshot', `${title}: snapshot()`, 'ms'),
  measure('stop', `${title}: stop`, 'ms', atMost(2_000)),
  ...exponents.map(({ id, from, to, key }) =>
    measure(
      key,
      `${grown[id]}: exponent from ${from} to ${to} dormant servers`,
      '',
      // What is paid once hides the growth of the smaller sizes.
      to === largest ? atMost(1.1) : undefined,
    ),
  ),
];

function valuesOf(bySize: ReadonlyMap<number, Values>): Values {
  const of = (id: string, size: number): number => bySize.get(size)?.[id] ?? Number.NaN;
  return {
    ...bySize.get(largest),
    ...Object.fromEntries(
      exponents.map(({ id, from, to, key }) => [key, Math.log10(of(id, to) / of(id, from))]),
    ),
  };
}

export const growthWork: Work = {
  name: 'growth',
  measures,
  rounds: { full: 3, quick: 1 },
  run(context) {
    const child: typeof context.child = async (name, _task, limitMs) => {
      const bySize = new Map<number, Values>();
      for (const size of sizes) {
        const answer = (await context.child(name, size, limitMs)) as Values | null;
        if (answer === null) return null;
        bySize.set(size, answer);
      }
      return valuesOf(bySize);
    };
    return ownRounds({ ...context, child }, growthWork, true, 300_000);
  },
  job,
};
