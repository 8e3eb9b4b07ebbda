/**
 * npm run soak: thirty servers, a fifth of them faulty, under calls, edits, restarts and kills
 * for minutes or hours.
 *
 *     npm run soak -- --minutes 60 --seed 7
 *
 * Prints a line for each minute and a verdict; exit code 1 when a rule is broken. Linux only:
 * it reads the process table.
 */

import { loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { createTroupe, type Troupe } from '../src/index.ts';
import { startCast } from './soak/cast.ts';
import { childPids, fdCount, type Sample, Sampler } from './soak/sample.ts';
import { judge, type Soaked } from './soak/verdict.ts';
import { settingsOf, Workload } from './soak/workload.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});

const sampleEveryMs = 3_000;
// A queue of restarts of all thirty, on a machine that does something else as well.
const recoveryMs = 60_000;
// The kernel takes killed processes away in its own time, and the guardian leaves after us.
const goneMs = 3_000;

const number = (name: 'minutes' | 'seed'): number => {
  const value = Number(values[name]);
  if (Number.isFinite(value) && value > 0) return value;
  console.error(`"${values[name]}" is no number above zero; give one, as in --${name} 5`);
  process.exit(2);
};
const minutes = number('minutes');
const seed = number('seed');
if (globalThis.gc === undefined) {
  console.error('Without --expose-gc the heap cannot be told from garbage; use npm run soak.');
  process.exit(2);
}

const mebibytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1);

function lineOf(sample: Sample, { counts }: Workload): string {
  const { atMs, heapBytes, rssBytes, delayP99Ms } = sample;
  const { sent, ok, answered, unknown, refused } = counts;
  return [
    `${(atMs / 60_000).toFixed(1).padStart(5)} min`,
    `heap ${mebibytes(heapBytes)} MB`,
    `RSS ${mebibytes(rssBytes)} MB`,
    `fds ${sample.fdCount}`,
    `children ${sample.childCount}`,
    `handles ${sample.handleCount}`,
    `listeners ${sample.listenerCount}`,
    `delay p99 ${delayP99Ms.toFixed(0)} ms`,
    `calls ${sent}: ${ok} ok, ${answered} errors, ${unknown} unknown, ${refused} refused`,
    `load ${(loadavg()[0] ?? 0).toFixed(1)}`,
  ].join('  ');
}

async function sampleUntil(endMs: number, workload: Workload): Promise<readonly Sample[]> {
  const sampler = new Sampler();
  const samples: Sample[] = [];
  let nextLineMs = 0;
  while (performance.now() < endMs) {
    await pause(sampleEveryMs);
    const sample = await sampler.take();
    samples.push(sample);
    if (sample.atMs < nextLineMs) continue;
    nextLineMs = sample.atMs + 60_000 - sampleEveryMs / 2;
    console.error(lineOf(sample, workload));
  }
  sampler.end();
  return samples;
}

/** Names of those that do not become ready. */
async function lameOf(troupe: Troupe, names: readonly string[]): Promise<readonly string[]> {
  const waits = names.map((name) =>
    troupe.waitFor(name, 'ready', { timeoutMs: recoveryMs }).then(
      () => [],
      () => [name],
    ),
  );
  return (await Promise.all(waits)).flat();
}

async function goneExcept(hostPids: readonly number[]): Promise<number> {
  const deadline = performance.now() + goneMs;
  for (;;) {
    const left = childPids().filter((pid) => !hostPids.includes(pid)).length;
    if (left === 0 || performance.now() > deadline) return left;
    await pause(20);
  }
}

async function soak(): Promise<{ readonly soaked: Soaked; readonly workload: Workload }> {
  const cast = await startCast();
  // The loader of this script may have helpers of its own.
  const known = childPids();
  const fdsBefore = fdCount();
  const troupe = createTroupe({ settings: settingsOf(cast.members), seed });
  await troupe.ready();
  const workload = new Workload(troupe, cast.members, seed);
  const running = workload.run();
  const samples = await sampleUntil(performance.now() + minutes * 60_000, workload);
  workload.end();
  await running;
  const healthy = cast.members.filter(({ isFaulty }) => !isFaulty).map(({ name }) => name);
  const lame = await lameOf(troupe, healthy);
  const from = performance.now();
  await troupe.stop();
  const stopMs = performance.now() - from;
  const leftOver = await goneExcept(known);
  const fdsAfter = fdCount();
  await cast.end();
  const calls = workload.counts;
  return { soaked: { samples, calls, fdsBefore, fdsAfter, leftOver, lame, stopMs }, workload };
}

const { soaked, workload } = await soak();
const findings = judge(soaked);
const { disturbances, codes } = workload;
if (values.json) console.log(JSON.stringify({ seed, ...soaked, disturbances, codes, findings }));
else {
  const listed = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  console.log(`disturbances: ${listed(disturbances)}`);
  console.log(`errors of calls: ${listed(codes)}`);
  for (const { rule, isKept, seen } of findings)
    console.log(`${isKept ? 'kept  ' : 'BROKEN'}  ${rule}: ${seen}`);
}
process.exitCode = findings.every(({ isKept }) => isKept) ? 0 : 1;
