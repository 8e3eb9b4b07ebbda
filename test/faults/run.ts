/**
 * npm run faults: injects faults into real servers and compares the troupe's behaviour with what
 * it must be.
 *
 * Each row runs in a process of its own with a fresh troupe; shortened times are printed. Exit
 * code 1 when a row is not ok, 2 for an invalid command line.
 */

import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

import { build } from '../lab/build.ts';
import { chosenNames, positiveNumber, readOrExit } from '../lab/command-line.ts';
import { performInChild } from './children.ts';
import { closingLineOf, complaintsOf, tableOf } from './report.ts';
import type { Rows } from './row.ts';
import { quickNames, rows } from './rows.ts';
import { exitCodeOf, type Result, runRows } from './run-rows.ts';

const usage = `npm run faults -- [options]
  --only ROWS   only these, by id or name: F10,F2*,F21/init-error (repeatable)
  --quick       one row of each kind; times do not count
  --jobs N      so many rows at a time (default: one per processor)
  --json        one JSON document instead of the table
  --list        the rows and how they are made, without running them`;

const { flags, chosen, jobs } = readOrExit(() => {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      quick: { type: 'boolean', default: false },
      jobs: { type: 'string', default: String(availableParallelism()) },
      json: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const patterns =
    values.only?.flatMap((list) => list.split(',')) ?? (values.quick ? quickNames : ['*']);
  const names = chosenNames('--only', patterns, Object.keys(rows));
  return {
    flags: values,
    chosen: Object.fromEntries(Object.entries(rows).filter(([name]) => names.includes(name))),
    jobs: positiveNumber('--jobs', values.jobs),
  };
});

async function run(): Promise<void> {
  const from = performance.now();
  await build();
  const results = await runRows(
    chosen,
    jobs,
    (name, row) => performInChild(name, row, flags.quick),
    ({ name, verdict }) => {
      if (!flags.json) process.stderr.write(verdict === 'not ok' ? `[${name}]` : '.');
    },
  );
  print(results, Math.round((performance.now() - from) / 1_000));
  process.exitCode = exitCodeOf(results);
}

function print(results: readonly Result[], seconds: number): void {
  if (flags.json) {
    console.log(JSON.stringify({ seconds, summary: closingLineOf(results), results }, null, 2));
    return;
  }
  process.stderr.write('\n');
  console.log(tableOf(results));
  const complaints = complaintsOf(results);
  if (complaints !== '') console.log(`\nnot ok:\n${complaints.trimEnd()}`);
  console.log(`\n${shortened(chosen)}`);
  console.log(`took ${seconds} s`);
  console.log(closingLineOf(results));
}

function shortened(ran: Rows): string {
  const scaled = Object.entries(ran).flatMap(([name, row]) =>
    (row.speed ?? 1) === 1 ? [] : [`${name} x${row.speed}`],
  );
  const clock =
    scaled.length === 0 ? '' : ` The troupe's clock ran at another speed in: ${scaled.join(', ')}.`;
  return `Shortened: connectTimeoutMs and timeoutMs as the rows set them.${clock}`;
}

if (flags.help) console.log(usage);
else if (flags.list) {
  for (const [name, { inject }] of Object.entries(chosen))
    console.log(`${name.padEnd(28)} ${inject}`);
} else await run();
