/**
 * npm run soak: thirty servers, a fifth of them faulty, under calls, edits, restarts and kills
 * for minutes or hours.
 *
 *     npm run soak -- --minutes 60 --seed 7
 *
 * First everything that has a bound is filled; then a sample is taken four times a minute, of a
 * troupe that rests and after the garbage was collected. Prints a line for each minute, what the
 * heap holds more at the end than after the warm-up, and a verdict; exit code 1 when a rule is
 * broken. Linux only: it reads the process table.
 */

import { loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createTroupe, type Troupe } from '../src/index.ts';
import { positiveNumber, readOrExit } from '../test/lab/command-line.ts';
import { childrenOf, processesWith, survivorsOf } from '../test/lab/processes.ts';
import { type Census, engineKind, growthOf, StoredHeap } from './leaks/heap-census.ts';
import { age, youngSettings } from './soak/ageing.ts';
import { startCast } from './soak/cast.ts';
import { fdCount, type Sample, Sampler } from './soak/sample.ts';
import { judge, type Soaked, warmUpMsOf } from './soak/verdict.ts';
import { settingsOf, Workload } from './soak/workload.ts';

const { minutes, seed, isJson } = readOrExit(() => {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '20' },
      seed: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
    },
  });
  return {
    minutes: positiveNumber('--minutes', values.minutes),
    seed: positiveNumber('--seed', values.seed),
    isJson: values.json,
  };
});

const sampleEveryMs = 15_000;
// A queue of restarts of all thirty, on a machine that does something else as well.
const recoveryMs = 60_000;
// The kernel takes killed processes away in its own time, and the guardian leaves after us.
const goneMs = 3_000;

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

interface Taken {
  readonly samples: readonly Sample[];
  /** After the warm-up and at the end. */
  readonly heaps: readonly StoredHeap[];
}

async function sampleFor(runMs: number, workload: Workload): Promise<Taken> {
  const sampler = new Sampler();
  const samples: Sample[] = [];
  const heaps: StoredHeap[] = [];
  const dueMs = [warmUpMsOf(runMs), runMs - sampleEveryMs];
  for (let atMs = 0, nextLineMs = 0; atMs < runMs; ) {
    await pause(sampleEveryMs);
    const sample = await workload.atRest(async () => {
      const taken = await sampler.take();
      if (taken.atMs >= (dueMs[0] ?? Number.POSITIVE_INFINITY)) {
        dueMs.shift();
        heaps.push(new StoredHeap());
      }
      return taken;
    });
    samples.push(sample);
    ({ atMs } = sample);
    if (atMs < nextLineMs) continue;
    nextLineMs = atMs + 60_000 - sampleEveryMs / 2;
    console.error(lineOf(sample, workload));
  }
  sampler.end();
  return { samples, heaps };
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

interface Run {
  readonly soaked: Soaked;
  readonly workload: Workload;
  readonly censuses: readonly Census[];
}

async function soak(): Promise<Run> {
  const cast = await startCast();
  // The loader of this script may have helpers of its own.
  const known = childrenOf(process.pid);
  const fdsBefore = fdCount();
  const troupe = createTroupe({ settings: youngSettings(cast.members), seed });
  const ageingFrom = performance.now();
  await age(troupe, cast.members);
  console.error(`aged in ${((performance.now() - ageingFrom) / 1_000).toFixed(0)} s`);
  const workload = new Workload(troupe, cast.members, seed);
  troupe.send({ type: 'settings.changed', settings: settingsOf(cast.members) });
  const running = workload.run();
  const runMs = minutes * 60_000;
  const { samples, heaps } = await sampleFor(runMs, workload);
  workload.end();
  await running;
  const healthy = cast.members.filter(({ isFaulty }) => !isFaulty).map(({ name }) => name);
  const lame = await lameOf(troupe, healthy);
  const from = performance.now();
  await troupe.stop();
  const stopMs = performance.now() - from;
  const left = await survivorsOf(
    () => [
      ...new Set([
        ...processesWith(cast.mark, 'environ'),
        ...childrenOf(process.pid).filter((pid) => !known.includes(pid)),
      ]),
    ],
    goneMs,
  );
  const fdsAfter = fdCount();
  await cast.end();
  const calls = workload.counts;
  const censuses = heaps.map((heap) => heap.census());
  for (const heap of heaps) heap.remove();
  return {
    soaked: { samples, runMs, calls, fdsBefore, fdsAfter, leftOver: left.length, lame, stopMs },
    workload,
    censuses,
  };
}

/** What grew most, without what V8 keeps for itself. */
function growthLines([before, after]: readonly Census[]): readonly string[] {
  if (before === undefined || after === undefined) return [];
  const growth = growthOf(before, after);
  const kilobytes = (bytes: number): string => `${(bytes / 1_024).toFixed(0)} KB`;
  const ofV8 = growth.find(({ kind }) => kind === engineKind)?.bytes ?? 0;
  const own = growth.filter(({ kind }) => kind !== engineKind);
  const whole = own.reduce((sum, { bytes }) => sum + bytes, 0);
  return [
    `from the warm-up to the end: ${kilobytes(whole)} more of objects, ${kilobytes(ofV8)} more of compiled code`,
    ...own
      .slice(0, 8)
      .map(({ kind, count, bytes }) => `  ${kilobytes(bytes)} in ${count} of ${kind}`),
  ];
}

const { soaked, workload, censuses } = await soak();
const findings = judge(soaked);
const { disturbances, codes } = workload;
if (isJson) console.log(JSON.stringify({ seed, ...soaked, disturbances, codes, findings }));
else {
  const listed = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  console.log(`disturbances: ${listed(disturbances)}`);
  console.log(`errors of calls: ${listed(codes)}`);
  for (const line of growthLines(censuses)) console.log(line);
  for (const { rule, verdict, seen } of findings)
    console.log(`${(verdict === 'broken' ? 'BROKEN' : verdict).padEnd(9)}  ${rule}: ${seen}`);
}
process.exitCode = findings.some(({ verdict }) => verdict === 'broken') ? 1 : 0;
