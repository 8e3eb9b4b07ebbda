/**
 * npm run bench: the cost of this package, as ratios to a client of the SDK's first line, used by hand for the
 * same work in the same run.
 *
 * Contenders take turns, and each ratio is made within one round, so that the load of the machine
 * affects both sides. Absolute numbers hold for this machine at this moment; trust the ratios, within
 * the noise: how that client, measured twice, compares with itself.
 *
 * Exit code 1 when a child crashed or took too long, 2 for an invalid command line. A missed
 * target is a result and does not change the exit code.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { build, compiledFolder, rootFolder } from '../lab/build.ts';
import { chosenNames, positiveNumber, readOrExit, UsageError } from '../lab/command-line.ts';
import { runChild } from '../lab/run-child.ts';
import { baseline, control, entries, entryOf, peers } from './contenders.ts';
import { installPeers } from './peers.ts';
import { choosePublished, findPublished } from './published.ts';
import { markdownOf, needsControl, peerTableOf, type Row, rowsOf, tableOf } from './report.ts';
import type { WorkContext } from './work.ts';
import { works } from './works.ts';

const usage = `npm run bench -- [options]
  --only NAMES     only these works, such as call-stdio or import,start-* (repeatable); --list shows the names
  --rounds N       number of rounds of each work
  --quick          fewer rounds
  --peers          also the other clients, which are installed at their first use
  --before FILE    a column with the results of an earlier run, as --json printed them
  --docs           also write the table of docs/speed.md; for a run of all works
  --json           one JSON document instead of the table
  --list           names of the works
  --node OPTION    an option for the child processes, such as --cpu-prof (repeatable)`;

/** The rows of an earlier run. */
function readRows(file: string): readonly Row[] {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { readonly rows: readonly Row[] }).rows;
  } catch (error) {
    throw new UsageError(
      `--before ${file}: ${(error as Error).message}; pass a file that --json printed`,
    );
  }
}

const { flags, before, chosen, rounds } = readOrExit(() => {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      peers: { type: 'boolean', default: false },
      before: { type: 'string' },
      docs: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      node: { type: 'string', multiple: true, default: [] },
      help: { type: 'boolean', default: false },
    },
  });
  const standard = works.filter(({ isOptional }) => isOptional !== true);
  const only =
    values.only?.flatMap((names) => names.split(',')) ?? standard.map(({ name }) => name);
  const names = chosenNames(
    '--only',
    only,
    works.map(({ name }) => name),
  );
  if (values.docs && values.only !== undefined)
    throw new UsageError('--docs: the page shows all works; remove --only');
  return {
    flags: values,
    before: values.before === undefined ? undefined : readRows(values.before),
    chosen: works.filter(({ name }) => names.includes(name)),
    rounds:
      values.rounds === undefined
        ? undefined
        : Math.ceil(positiveNumber('--rounds', values.rounds)),
  };
});

const contenders = Object.keys(entries).filter((name) => flags.peers || !peers.includes(name));

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
      contenders: [...contenders, ...(needsControl(work) ? [control] : [])],
      isQuick: flags.quick,
      rounds: rounds ?? (flags.quick ? work.rounds.quick : work.rounds.full),
      child,
    });
    process.stderr.write(`${((performance.now() - from) / 1_000).toFixed(1)} s\n`);
    rows.push(...rowsOf(work, done));
  }
  return rows;
}

/** Replaces the results in docs/speed.md. */
function writeDocs(about: string, rows: readonly Row[]): void {
  const file = join(rootFolder, 'docs/speed.md');
  const between = /(?<=<!-- results -->\n).*(?=<!-- \/results -->)/su;
  const text = `\n${about}\n\n${markdownOf(rows)}\n\n`;
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace(between, () => text),
  );
}

async function run(): Promise<void> {
  await build();
  const published = findPublished();
  choosePublished(published);
  if (flags.peers) await installPeers(contenders);
  const machine = `Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}); mcp-troupe: ${published.about}`;
  const loadBefore = load();
  const from = performance.now();
  const rows = await measure();
  const seconds = Math.round((performance.now() - from) / 1_000);
  const failed = [...failures].map(([what, count]) => `${what}: ${count} failed`);
  const { title } = entryOf(baseline);
  const loads = `load average ${loadBefore} before, ${load()} after ${seconds} s`;
  if (flags.docs) writeDocs(`${machine}; ${loads}.`, rows);
  if (flags.json) console.log(JSON.stringify({ machine, loads, seconds, rows, failed }, null, 2));
  else
    console.log(`${machine}
${loads}
median (least-greatest); ratios are to ${title}, made within each round; lower is better except for calls/s
noise: ${title} to itself; when a target is closer to the ratio than that, the verdict is unclear

${tableOf(rows, before)}
${flags.peers ? `\n${peerTableOf(rows)}\n` : ''}`);
  if (failed.length > 0) console.error(`\nCrashed or too late:\n  ${failed.join('\n  ')}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}

if (flags.help) console.log(usage);
else if (flags.list) console.log(works.map(({ name }) => name).join('\n'));
else await run();
