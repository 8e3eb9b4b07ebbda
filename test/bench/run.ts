/**
 * npm run bench: the cost of this package, as ratios to the SDK's client used directly for the
 * same work in the same run.
 *
 * Contenders take turns, and each ratio is made within one round, so that the load of the machine
 * affects both sides. Absolute numbers hold for this machine at this moment; trust the ratios, within
 * the noise: how the SDK's client, measured twice, compares with itself.
 *
 * Exit code 1 when a child crashed or took too long, 2 for an invalid command line. A missed
 * target is a result and does not change the exit code.
 */

import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { build, compiledFolder } from '../lab/build.ts';
import { chosenNames, positiveNumber, readOrExit } from '../lab/command-line.ts';
import { runChild } from '../lab/run-child.ts';
import { baseline, control, entries, entryOf } from './contenders.ts';
import { needsControl, type Row, rowsOf, tableOf } from './report.ts';
import type { WorkContext } from './work.ts';
import { works } from './works.ts';

const usage = `npm run bench -- [options]
  --only NAME      only this work, or those like call-* (repeatable); --list shows the names
  --rounds N       number of rounds of each work
  --quick          fewer rounds
  --json           one JSON document instead of the table
  --list           names of the works
  --node OPTION    an option for the child processes, such as --cpu-prof (repeatable)`;

const { flags, chosen, rounds } = readOrExit(() => {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      node: { type: 'string', multiple: true, default: [] },
      help: { type: 'boolean', default: false },
    },
  });
  const standard = works.filter(({ isOptional }) => isOptional !== true);
  const only = values.only ?? standard.map(({ name }) => name);
  const names = chosenNames(
    '--only',
    only,
    works.map(({ name }) => name),
  );
  return {
    flags: values,
    chosen: works.filter(({ name }) => names.includes(name)),
    rounds:
      values.rounds === undefined
        ? undefined
        : Math.ceil(positiveNumber('--rounds', values.rounds)),
  };
});

const load = (): string =>
  loadavg()
    .map((value) => value.toFixed(1))
    .join(',');

/** How often a process crashed or was too late, by work and contender. */
const failures = new Map<string, number>();

const child: WorkContext['child'] = async (work, task, limitMs) => {
  const { answer = null, problems } = await runChild({
    file: join(compiledFolder, 'test/bench/child.js'),
    task: { work, task },
    limitMs,
    // Node 20's fetch warns when the SDK passes one signal to many requests.
    node: ['--expose-gc', '--disable-warning=MaxListenersExceededWarning', ...flags.node],
  });
  if (answer !== null) return answer;
  const contender = (task as { readonly contender?: string } | null)?.contender;
  const what = [work, ...(contender === undefined ? [] : [contender]), ...problems].join(', ');
  failures.set(what, (failures.get(what) ?? 0) + 1);
  return null;
};

async function measure(): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const work of chosen) {
    process.stderr.write(`${work.name} … `);
    const lack = work.lacks?.();
    if (lack !== undefined) {
      process.stderr.write(`skipped: ${lack}\n`);
      continue;
    }
    const from = performance.now();
    const done = await work.run({
      contenders: [...Object.keys(entries), ...(needsControl(work) ? [control] : [])],
      isQuick: flags.quick,
      rounds: rounds ?? (flags.quick ? work.rounds.quick : work.rounds.full),
      child,
    });
    process.stderr.write(`${((performance.now() - from) / 1_000).toFixed(1)} s\n`);
    rows.push(...rowsOf(work, done));
  }
  return rows;
}

async function run(): Promise<void> {
  await build();
  const machine = `Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'})`;
  const loadBefore = load();
  const from = performance.now();
  const rows = await measure();
  const seconds = Math.round((performance.now() - from) / 1_000);
  const failed = [...failures].map(([what, count]) => `${what}: ${count} failed`);
  const { title } = entryOf(baseline);
  const loads = `load average ${loadBefore} before, ${load()} after ${seconds} s`;
  if (flags.json) console.log(JSON.stringify({ machine, loads, seconds, rows, failed }, null, 2));
  else
    console.log(`${machine}
${loads}
median (least-greatest); ratios are to ${title}, made within each round; lower is better except for calls/s
noise: ${title} to itself; when a target is closer to the ratio than that, the verdict is unclear

${tableOf(rows)}`);
  if (failed.length > 0) console.error(`\nCrashed or too late:\n  ${failed.join('\n  ')}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}

if (flags.help) console.log(usage);
else if (flags.list) console.log(works.map(({ name }) => name).join('\n'));
else await run();
