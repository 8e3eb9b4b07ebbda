/**
 * npm run bench: what this package costs, as ratios to the SDK's client used by hand for the
 * same work in the same run.
 *
 * Contenders take turns, and a ratio is made within each round, so that the load of the machine
 * hits both sides. Absolute numbers are of this machine and this moment; trust the ratios, and
 * these no further than the noise: how the SDK's client, measured twice, compares with itself.
 *
 * Exit code 1 when a child crashed or took too long, 2 when the command line asks for what
 * does not exist. A target that is missed is a result and changes nothing.
 */

import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { build, compiledFolder } from '../lab/build.ts';
import { chosenNames, positiveNumber, readOrExit } from '../lab/command-line.ts';
import { runChild } from '../lab/run-child.ts';
import { baseline, control, entries } from './contenders.ts';
import { needsControl, type Roles, type Row, rowsOf, tableOf } from './report.ts';
import type { WorkContext } from './work.ts';
import { works } from './works.ts';

const usage = `npm run bench -- [options]
  --only NAME      only this work, or those like call-* (repeatable); --list shows the names
  --rounds N       as many rounds of each work
  --quick          fewer rounds
  --contender NAME only this one and the baseline (repeatable)
  --json           one JSON document instead of the table
  --list           names of the works
  --node OPTION    an option for the child processes, such as --cpu-prof (repeatable)`;

const { flags, chosen, rounds, contenders } = readOrExit(() => {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      contender: { type: 'string', multiple: true, default: ['*'] },
      json: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      node: { type: 'string', multiple: true, default: [] },
      help: { type: 'boolean', default: false },
    },
  });
  const { only } = values;
  const names = chosenNames(
    '--only',
    only ?? ['*'],
    works.map(({ name }) => name),
  );
  return {
    flags: values,
    chosen: works.filter(
      ({ name, isOptional }) => names.includes(name) && (only !== undefined || isOptional !== true),
    ),
    rounds:
      values.rounds === undefined
        ? undefined
        : Math.ceil(positiveNumber('--rounds', values.rounds)),
    contenders: chosenNames('--contender', [baseline, ...values.contender], Object.keys(entries)),
  };
});

const roles: Roles = { contenders, baseline, subject: 'troupe' };
const titles = Object.fromEntries(Object.entries(entries).map(([name, it]) => [name, it.title]));

function load(): readonly number[] {
  return loadavg().map((value) => Number(value.toFixed(1)));
}

/** How often a process crashed or was too late, by work and contender. */
const failures = new Map<string, number>();

const child: WorkContext['child'] = async (work, task, limitMs) => {
  const { answer = null, problems } = await runChild({
    file: join(compiledFolder, 'test/bench/child.js'),
    task: { work, task },
    limitMs,
    // Node 20's fetch warns when the SDK gives it one signal for many requests.
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
  const hasSubject = contenders.includes(roles.subject);
  for (const work of chosen) {
    process.stderr.write(`${work.name} … `);
    const lack = work.lacks?.();
    if (lack !== undefined) {
      process.stderr.write(`skipped: ${lack}\n`);
      continue;
    }
    const from = performance.now();
    const isControlled = hasSubject && needsControl(work);
    const done = await work.run({
      contenders: isControlled ? [...contenders, control] : contenders,
      isQuick: flags.quick,
      rounds: rounds ?? (flags.quick ? work.rounds.quick : work.rounds.full),
      child,
    });
    process.stderr.write(`${((performance.now() - from) / 1_000).toFixed(1)} s\n`);
    rows.push(...rowsOf(work, done, isControlled ? { ...roles, control } : roles));
  }
  return rows;
}

async function run(): Promise<void> {
  await build();
  const cores = cpus().length;
  const processor = cpus()[0]?.model ?? 'unknown';
  const machine = { node: process.version, cores, processor, load: load() };
  const from = performance.now();
  const rows = await measure();
  const seconds = Math.round((performance.now() - from) / 1_000);
  const loadAfter = load();
  const failed = [...failures].map(([what, count]) => `${what}: ${count} failed`);
  if (flags.json) {
    const document = { machine, loadAfter, seconds, ...roles, rows, failed };
    console.log(JSON.stringify(document, null, 2));
  } else {
    console.log(`Node ${machine.node}, ${cores} cores (${processor})`);
    console.log(
      `load average ${String(machine.load)} before, ${String(loadAfter)} after ${seconds} s`,
    );
    console.log(
      'median (least-greatest); ratios are to client 2.4, made within each round; lower is better but for calls/s',
    );
    console.log(
      'noise: client 2.4 to itself; a target nearer to the ratio than that leaves the verdict unclear',
    );
    console.log(`\n${tableOf(rows, roles, titles)}`);
  }
  if (failed.length > 0) console.error(`\nCrashed or too late:\n  ${failed.join('\n  ')}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}

if (flags.help) console.log(usage);
else if (flags.list) console.log(works.map(({ name }) => name).join('\n'));
else await run();
