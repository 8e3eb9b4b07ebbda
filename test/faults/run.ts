/**
 * npm run faults: makes real faults in real servers, and holds what a troupe does to what it must do.
 *
 * Each row runs in a process of its own with a fresh troupe; the numbers that are shortened are
 * printed. Exit code 1 when a row is not ok.
 */

import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

import { withBuild } from './build.ts';
import { performIn } from './children.ts';
import { closingLineOf, complaintsOf, tableOf } from './report.ts';
import { type AnyRow, nameOf } from './row.ts';
import { rows } from './rows.ts';
import { choose, exitCodeOf, type Result, runRows } from './run-rows.ts';

const usage = `npm run faults -- [options]
  --only ROWS   only these, by id or name: F10,F2*,F21/init-error (repeatable)
  --jobs N      so many rows at a time (default: one per processor)
  --json        one JSON document instead of the table
  --list        the rows and how they are made, without running them`;

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    jobs: { type: 'string' },
    json: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const patterns = flags.only.flatMap((list) => list.split(',')).filter((it) => it !== '');
const chosen = choose(rows, patterns);

async function run(): Promise<void> {
  const jobs = Math.max(1, Number(flags.jobs) || availableParallelism());
  const from = performance.now();
  const results = await withBuild((folder) =>
    runRows(chosen, jobs, performIn(folder), ({ name, verdict }) => {
      if (!flags.json) process.stderr.write(verdict === 'not ok' ? `[${name}]` : '.');
    }),
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

function shortened(ran: readonly AnyRow[]): string {
  const fast = ran.flatMap((row) =>
    'speed' in row && row.speed !== undefined ? [`${nameOf(row)} x${row.speed}`] : [],
  );
  const clock =
    fast.length === 0 ? '' : ` The clock of the troupe ran faster in: ${fast.join(', ')}.`;
  return `Shortened: connectTimeoutMs and timeoutMs as the rows set them.${clock}`;
}

if (flags.help) console.log(usage);
else if (flags.list) {
  console.log(chosen.map((row) => `${nameOf(row).padEnd(28)} ${row.inject}`).join('\n'));
} else await run();
