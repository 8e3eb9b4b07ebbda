/**
 * npm run bench: what this package costs, as ratios to the SDK's client used by hand for the
 * same work in the same run.
 *
 * Contenders take turns, and a ratio is made within each round, so that the load of the machine
 * hits both sides. Absolute numbers are of this machine and this moment; trust the ratios.
 */

import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';

import { build } from './build.ts';
import { runChild } from './children.ts';
import { isChosen } from './choice.ts';
import { baseline, entries } from './contenders.ts';
import { type Roles, type Row, rowsOf, tableOf } from './report.ts';
import type { Work } from './work.ts';
import { works } from './works.ts';

const usage = `npm run bench -- [options]
  --only NAME      only works whose name contains NAME (repeatable); --list shows the names
  --rounds N       as many rounds of each work
  --quick          fewer rounds
  --install        also install everybody from the registry and weigh it
  --contender NAME only this one and the baseline (repeatable)
  --json           one JSON document instead of the table
  --list           names of the works
  --node OPTION    an option for the child processes, such as --cpu-prof (repeatable)`;

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    install: { type: 'boolean', default: false },
    contender: { type: 'string', multiple: true },
    json: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    node: { type: 'string', multiple: true, default: [] },
    help: { type: 'boolean', default: false },
  },
});

function machine(): Readonly<Record<string, unknown>> {
  return {
    node: process.version,
    cores: cpus().length,
    processor: cpus()[0]?.model ?? 'unknown',
    load: loadavg().map((value) => Number(value.toFixed(1))),
  };
}

function roundsOf({ rounds }: Work): number {
  if (flags.rounds !== undefined) return Math.max(1, Number(flags.rounds) || 1);
  return flags.quick ? rounds.quick : rounds.full;
}

const contenders = Object.keys(entries).filter(
  (name) => flags.contender === undefined || name === baseline || flags.contender.includes(name),
);
const roles: Roles = { contenders, baseline, subject: 'troupe' };
const titles = Object.fromEntries(Object.entries(entries).map(([name, it]) => [name, it.title]));

async function measure(): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const work of works.filter((it) => isChosen(it, flags))) {
    process.stderr.write(`${work.name} … `);
    const from = performance.now();
    const rounds = await work.run({
      contenders,
      rounds: roundsOf(work),
      child: (name, task, limitMs) => runChild(name, task, limitMs, flags.node),
    });
    process.stderr.write(`${((performance.now() - from) / 1_000).toFixed(1)} s\n`);
    rows.push(...rowsOf(work, rounds, roles));
  }
  return rows;
}

if (flags.help) console.log(usage);
else if (flags.list) console.log(works.map(({ name }) => name).join('\n'));
else {
  await build();
  const before = machine();
  const from = performance.now();
  const rows = await measure();
  const seconds = Math.round((performance.now() - from) / 1_000);
  const loadAfter = machine()['load'];
  if (flags.json) {
    console.log(JSON.stringify({ machine: before, loadAfter, seconds, ...roles, rows }, null, 2));
  } else {
    const { node, cores, processor, load } = before;
    console.log(`Node ${String(node)}, ${String(cores)} cores (${String(processor)})`);
    console.log(`load average ${String(load)} before, ${String(loadAfter)} after ${seconds} s`);
    console.log(
      'median (least-greatest); ratios are to client 2.4, made within each round; lower is better but for calls/s',
    );
    console.log(`\n${tableOf(rows, roles, titles)}`);
  }
}
