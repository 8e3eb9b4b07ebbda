/** Random schedules of clients that come, call, restart, crash and go, over real processes. */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createCommandTroupe as createTroupe } from '../../../src/runtime/assembly/create-troupe.ts';
import type { Troupe } from '../../../src/runtime/troupe.ts';
import { isRunning } from '../../actors/session/bench.ts';

const script = path.resolve('test/fixtures/shared-server.mjs');
const folder = path.dirname(script);
const stepCount = 40;
const mostClients = 5;

/** The processes of the fixture that this process has started, as the system shows them. */
function processes(mark: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return words.includes(mark) && !/\) Z /u.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
      } catch {
        return false;
      }
    });
}

// A linear congruential generator: equal seeds give equal schedules.
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

it.each([1, 2, 3])('keep one process and lose no call, with seed %i', async (seed) => {
  const random = createRandom(seed);
  const mark = `schedule-${process.pid}-${seed}`;
  const entry = { command: process.execPath, args: [script, mark], cwd: folder };
  const troupe = createTroupe({
    settings: { mcpServers: { shared: entry } },
    projectRoot: folder,
    policy: { restart: { maxAttempts: null }, storm: { crashLoop: null, reconnectStorm: null } },
    sources: [],
  });
  onTestFinished(() => troupe.stop());
  await troupe.ready();
  const clients: Troupe[] = [];
  const calls: Promise<void>[] = [];
  const pick = (): Troupe => clients[random(clients.length)] ?? troupe;
  let words = 0;
  let answered = 0;
  const steps: readonly (() => unknown)[] = [
    async () => {
      if (clients.length === mostClients) return;
      const client = troupe.openClient({ name: `client ${words}` });
      await client.ready();
      clients.push(client);
    },
    () => clients.splice(random(mostClients), 1)[0]?.stop(),
    () => pick().send({ type: 'server.restart', server: 'shared' }),
    () => {
      const { pid } = pick().status('shared') ?? {};
      if (pid !== undefined && isRunning(pid)) process.kill(pid, 'SIGKILL');
    },
  ];
  for (let step = 0; step < stepCount; step += 1) {
    words += 1;
    const word = `word ${words}`;
    const call = pick()
      .callServerTool('shared', 'echo', { word })
      .then(
        ({ result }) => {
          answered += 1;
          expect(result.content).toEqual([{ type: 'text', text: word }]);
        },
        (error: unknown) =>
          expect(error).toMatchObject({ outcome: expect.stringMatching(/unknown|not_executed/u) }),
      );
    calls.push(call);
    if (random(3) === 0) await call;
    await steps[random(steps.length)]?.();
  }
  await Promise.all(calls);
  expect(answered).toBeGreaterThan(stepCount / 4);
  for (const client of [troupe, ...clients]) await client.waitFor('shared', 'ready');
  const pids = new Set([troupe, ...clients].map((each) => each.status('shared')?.pid));
  expect(processes(mark)).toEqual(expect.arrayContaining([...pids]));
  await troupe.stop();
  expect(processes(mark)).toEqual([]);
});
