/**
 * npm run leaks: measures how many bytes each operation of a troupe leaves behind.
 *
 *     npm run leaks -- --only 'call over HTTP' --kinds
 *
 * Each operation runs in its own process: a warm-up, which fills everything bounded, then the same
 * work twice, with heap snapshots before, between and after. Growth in both halves is a leak; growth
 * in only one is not. Exit code 1 when an operation exceeds its limit. `--kinds` lists what grew,
 * `--quick` runs one operation.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { chosenNames, readOrExit } from '../test/lab/command-line.ts';
import { type Census, cameTwice, growthOf, StoredHeap } from './leaks/heap-census.ts';
import { type Operation, operations } from './leaks/operations.ts';

// The pass that CI makes: a crash frees the most.
const quickNames = ['crash'];

const { values, names } = readOrExit(() => {
  const { values: flags } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      quick: { type: 'boolean', default: false },
      kinds: { type: 'boolean', default: false },
      // For the process of an operation.
      here: { type: 'boolean', default: false },
    },
  });
  const patterns = flags.only ?? (flags.quick ? quickNames : ['*']);
  return { values: flags, names: chosenNames('--only', patterns, Object.keys(operations)) };
});

const shownKinds = 12;

async function storedHeap(): Promise<StoredHeap> {
  // One collection may free objects that kept others alive.
  for (let turn = 0; turn < 3; turn += 1) {
    globalThis.gc?.();
    await pause(200);
  }
  return new StoredHeap();
}

async function heapsOf({ start, warmUpCount, count }: Operation): Promise<readonly StoredHeap[]> {
  const { repeat, end } = await start();
  const heaps: StoredHeap[] = [];
  for (const times of [warmUpCount, count, count]) {
    await repeat(times);
    heaps.push(await storedHeap());
  }
  await end();
  return heaps;
}

/** Whether the operation stays below its limit. */
async function weigh(name: string): Promise<boolean> {
  const operation = operations[name];
  if (operation === undefined) throw new Error(`There is no operation ${name}.`);
  const { count, mostBytes } = operation;
  const from = performance.now();
  const heaps = await heapsOf(operation);
  const tookMs = performance.now() - from;
  const censuses = heaps.map((heap) => heap.census());
  for (const heap of heaps) heap.remove();
  const [before, between, after] = censuses as [Census, Census, Census];
  const left = cameTwice(before, between, after) / count;
  const isKept = left <= mostBytes;
  const seconds = (tookMs / 1_000).toFixed(0);
  console.log(
    `${isKept ? 'kept  ' : 'BROKEN'}  ${name.padEnd(28)}${left.toFixed(1).padStart(8)} bytes each, at most ${mostBytes}; ${count} twice in ${seconds} s`,
  );
  if (values.kinds)
    for (const { kind, count: more, bytes } of growthOf(before, after).slice(0, shownKinds))
      console.log(`          ${bytes} bytes more in ${more} more of ${kind}`);
  return isKept;
}

async function weighApart(name: string): Promise<boolean> {
  const words = ['--here', '--only', name, ...(values.kinds ? ['--kinds'] : [])];
  const child = spawn(
    process.execPath,
    ['--expose-gc', '--import', 'tsx', fileURLToPath(import.meta.url), ...words],
    { stdio: 'inherit' },
  );
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0;
}

let areKept = true;
for (const name of names) {
  areKept = (await (values.here ? weigh(name) : weighApart(name))) && areKept;
}
process.exitCode = areKept ? 0 : 1;
