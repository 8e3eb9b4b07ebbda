/**
 * npm run soak: thirty servers, a fifth of them faulty, under calls, edits, restarts and kills
 * for minutes or hours.
 *
 *     npm run soak -- --minutes 60 --seed 7
 *
 * Four times a minute the troupe pauses, garbage is collected and a sample is taken. Prints a line
 * per minute and a verdict; exit code 1 when a rule is broken. Linux only: it reads the process table.
 */

import { readdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { createTroupe } from '../src/index.ts';
import { heapBytes } from '../test/bench/work/memory.ts';
import { positiveNumber, readOrExit } from '../test/lab/command-line.ts';
import { childrenOf, processesWith, survivorsOf } from '../test/lab/processes.ts';
import { startServers } from './soak/servers.ts';
import { judge, type Sample, type Soaked } from './soak/verdict.ts';
import { settingsOf, Workload } from './soak/workload.ts';

const { minutes, seed } = readOrExit(() => {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '20' },
      seed: { type: 'string', default: '1' },
    },
  });
  return {
    minutes: positiveNumber('--minutes', values.minutes),
    seed: positiveNumber('--seed', values.seed),
  };
});

const sampleEveryMs = 15_000;
// Restarting all thirty servers takes long on a busy machine.
const recoveryMs = 60_000;
// The kernel removes killed processes with a delay, and the guardian exits after us.
const goneMs = 3_000;
const fdCount = (): number => readdirSync('/proc/self/fd').length;

async function takeSample(from: number): Promise<Sample> {
  return {
    heapBytes: await heapBytes(),
    atMs: performance.now() - from,
    fdCount: fdCount(),
    childCount: childrenOf(process.pid).length,
    listenerCount: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
  };
}

async function sampleFor(runMs: number, workload: Workload): Promise<readonly Sample[]> {
  const from = performance.now();
  const samples: Sample[] = [];
  while (performance.now() - from < runMs) {
    await pause(sampleEveryMs);
    const sample = await workload.atRest(() => takeSample(from));
    samples.push(sample);
    if (samples.length % 4 !== 1) continue;
    const { atMs, heapBytes: heap, ...counts } = sample;
    const [after, megabytes] = [(atMs / 60_000).toFixed(1), (heap / 1024 / 1024).toFixed(1)];
    const rest = JSON.stringify({ ...counts, ...workload.counts });
    console.error(`${after} min  heap ${megabytes} MB  ${rest}`);
  }
  return samples;
}

async function soak(): Promise<Soaked> {
  const servers = await startServers();
  const { members, mark } = servers;
  // The loader of this script may have children of its own.
  const known = childrenOf(process.pid);
  const fdsBefore = fdCount();
  const troupe = createTroupe({ settings: settingsOf(members), seed });
  await troupe.ready();
  const workload = new Workload(troupe, members, seed);
  const running = workload.run();
  const runMs = minutes * 60_000;
  const samples = await sampleFor(runMs, workload);
  workload.end();
  await running;
  const healthy = members.filter(({ isFaulty }) => !isFaulty);
  const waits = healthy.map(({ name }) =>
    troupe.waitFor(name, 'ready', { timeoutMs: recoveryMs }).then(
      () => [],
      () => [name],
    ),
  );
  const lame = (await Promise.all(waits)).flat();
  const from = performance.now();
  await troupe.stop();
  const stopMs = performance.now() - from;
  const left = await survivorsOf(
    () => [
      ...processesWith(mark, 'environ'),
      ...childrenOf(process.pid).filter((pid) => !known.includes(pid)),
    ],
    goneMs,
  );
  const fdsAfter = fdCount();
  await servers.end();
  const calls = workload.counts;
  return { samples, runMs, calls, fdsBefore, fdsAfter, leftOver: left.length, lame, stopMs };
}

const findings = judge(await soak());
for (const { rule, isKept, seen } of findings)
  console.log(`${isKept ? 'kept' : 'BROKEN'}  ${rule}: ${seen}`);
process.exitCode = findings.every(({ isKept }) => isKept) ? 0 : 1;
