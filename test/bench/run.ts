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
import { parseArgs } from 'node:util';

import { build } from './build.ts';
import { runChild } from './children.ts';
import { chosenContenders, chosenRounds, chosenWorks, WrongWish } from './choice.ts';
import { baseline, control, entries } from './contenders.ts';
import { watched } from './failures.ts';
import { needsControl, type Roles, type Row, rowsOf, tableOf } from './report.ts';
import type { WorkContext } from './work.ts';
import { works } from './works.ts';

const usage = `npm run bench -- [options]
  --only NAME      only this work, or those like call-* (repeatable); --list shows the names
  --rounds N       as many rounds of each work
  --quick          fewer rounds
  --install        also install everybody from the registry and weigh it
  --contender NAME only this one and the baseline (repeatable)
  --json           one JSON document instead of the table
  --list           names of the works
  --node OPTION    an option for the child processes, such as --cpu-prof (repeatable)`;

const options = {
  only: { type: 'string', multiple: true },
  rounds: { type: 'string' },
  quick: { type: 'boolean', default: false },
  install: { type: 'boolean', default: false },
  contender: { type: 'string', multiple: true },
  json: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  node: { type: 'string', multiple: true },
  help: { type: 'boolean', default: false },
} as const;

function readWishes() {
  const { values: flags } = parseArgs({ options });
  return {
    flags,
    chosen: chosenWorks(works, flags),
    rounds: chosenRounds(flags.rounds),
    contenders: chosenContenders(Object.keys(entries), baseline, flags.contender),
  };
}

type Wanted = ReturnType<typeof readWishes>;

function machine(): Readonly<Record<string, unknown>> {
  return {
    node: process.version,
    cores: cpus().length,
    processor: cpus()[0]?.model ?? 'unknown',
    load: loadavg().map((value) => Number(value.toFixed(1))),
  };
}

const titles = Object.fromEntries(Object.entries(entries).map(([name, it]) => [name, it.title]));

async function measure(
  wanted: Wanted,
  roles: Roles,
  child: WorkContext['child'],
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const hasSubject = wanted.contenders.includes(roles.subject);
  for (const work of wanted.chosen) {
    process.stderr.write(`${work.name} … `);
    const lack = work.lacks?.();
    if (lack !== undefined) {
      process.stderr.write(`skipped: ${lack}\n`);
      continue;
    }
    const from = performance.now();
    const isControlled = hasSubject && needsControl(work);
    const rounds = await work.run({
      contenders: isControlled ? [...wanted.contenders, control] : wanted.contenders,
      isQuick: wanted.flags.quick,
      rounds: wanted.rounds ?? (wanted.flags.quick ? work.rounds.quick : work.rounds.full),
      child,
    });
    process.stderr.write(`${((performance.now() - from) / 1_000).toFixed(1)} s\n`);
    rows.push(...rowsOf(work, rounds, isControlled ? { ...roles, control } : roles));
  }
  return rows;
}

async function run(wanted: Wanted): Promise<void> {
  const { flags, contenders } = wanted;
  await build();
  const roles: Roles = { contenders, baseline, subject: 'troupe' };
  const before = machine();
  const from = performance.now();
  const { child, failures } = watched((name, task, limitMs) =>
    runChild(name, task, limitMs, flags.node ?? []),
  );
  const rows = await measure(wanted, roles, child);
  const seconds = Math.round((performance.now() - from) / 1_000);
  const loadAfter = machine()['load'];
  const failed = failures();
  if (flags.json) {
    const document = { machine: before, loadAfter, seconds, ...roles, rows, failed };
    console.log(JSON.stringify(document, null, 2));
  } else {
    const { node, cores, processor, load } = before;
    console.log(`Node ${String(node)}, ${String(cores)} cores (${String(processor)})`);
    console.log(`load average ${String(load)} before, ${String(loadAfter)} after ${seconds} s`);
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

/** What is wrong with the command line in one line, or undefined for a fault of ours. */
function complaintOf(error: unknown): string | undefined {
  if (error instanceof WrongWish) return error.message;
  const isParseError =
    error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_');
  return isParseError ? error.message.replaceAll('\n', ' ') : undefined;
}

function readOrRefuse(): Wanted | undefined {
  try {
    return readWishes();
  } catch (error) {
    const complaint = complaintOf(error);
    if (complaint === undefined) throw error;
    console.error(complaint);
    process.exitCode = 2;
    return undefined;
  }
}

const wanted = readOrRefuse();
if (wanted?.flags.help === true) console.log(usage);
else if (wanted?.flags.list === true) console.log(works.map(({ name }) => name).join('\n'));
else if (wanted !== undefined) await run(wanted);
