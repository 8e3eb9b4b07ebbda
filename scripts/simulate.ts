/**
 * Plays random schedules against the whole runtime, without real time.
 *
 *     npx tsx scripts/simulate.ts --seeds 10000 --steps 200 --servers 6
 *     npx tsx scripts/simulate.ts --hours 100
 *     npx tsx scripts/simulate.ts --flapping --hours 24 --servers 100
 *     npx tsx scripts/simulate.ts --seed 17 --steps 200      one schedule, again
 *
 * Every hundredth seed is played twice and must give the same story. A schedule
 * that breaks an invariant is printed with the shortest list of steps that does.
 * Exit code 1 when one did.
 */

import { parseArgs } from 'node:util';
import { setRealTimeTrap } from '../test/runtime/simulation/real-time-trap.ts';
import {
  type Played,
  play,
  playAndShrink,
  playFlapping,
  scheduleOf,
} from '../test/runtime/simulation/simulate.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    seed: { type: 'string' },
    steps: { type: 'string', default: '200' },
    hours: { type: 'string' },
    servers: { type: 'string' },
    flapping: { type: 'boolean', default: false },
  },
});

const msPerHour = 3_600_000;
const startedAt = process.hrtime.bigint();
const elapsedSeconds = (): number => Number(process.hrtime.bigint() - startedAt) / 1e9;

const numberIn = (value: string | undefined, otherwise: number): number => {
  const number = value === undefined ? otherwise : Number(value);
  if (Number.isFinite(number) && number >= 0) return number;
  console.error(`"${value}" is not a number; give one, as in --seeds 100`);
  process.exit(2);
};

const total = { schedules: 0, starts: 0, losses: 0, calls: 0, virtualMs: 0 };

function add(played: Played): void {
  total.schedules += 1;
  total.starts += played.starts;
  total.losses += played.losses;
  total.calls += played.calls;
  total.virtualMs += played.virtualMs;
}

function conclude(isBroken: boolean): void {
  const { schedules, starts, losses, calls, virtualMs } = total;
  const verdict = isBroken ? 'an invariant is broken' : 'no invariant was broken';
  const hours = (virtualMs / msPerHour).toFixed(1);
  console.log(
    `${schedules} schedules, ${hours} virtual hours, ${starts} starts, ${losses} losses, ` +
      `${calls} calls in ${elapsedSeconds().toFixed(1)} s: ${verdict}`,
  );
  process.exitCode = isBroken ? 1 : 0;
}

async function isBrokenBy(seed: number, stepCount: number, servers: number): Promise<boolean> {
  const schedule = scheduleOf(seed, stepCount, servers);
  const played = await play(schedule);
  add(played);
  if (played.problems.length > 0) {
    const { shortest, problems } = await playAndShrink(schedule);
    console.log(`seed ${seed} breaks:\n  ${problems.join('\n  ')}\nby these steps:`);
    for (const step of shortest) console.log(`  ${JSON.stringify(step)}`);
    console.log(
      `again: npx tsx scripts/simulate.ts --seed ${seed} --steps ${stepCount} --servers ${servers}`,
    );
    return true;
  }
  if (seed % 100 !== 0) return false;
  const isSame = (await play(schedule)).digest === played.digest;
  if (!isSame) console.log(`seed ${seed} tells another story when it is played again`);
  return !isSame;
}

async function playSchedules(): Promise<boolean> {
  const stepCount = numberIn(values.steps, 200);
  const servers = numberIn(values.servers, 6);
  if (values.seed !== undefined) return isBrokenBy(numberIn(values.seed, 1), stepCount, servers);
  const hours = values.hours === undefined ? 0 : numberIn(values.hours, 0);
  const seeds = numberIn(values.seeds, values.hours === undefined ? 1_000 : 0);
  for (let seed = 1; seed <= seeds || total.virtualMs < hours * msPerHour; seed += 1) {
    if (await isBrokenBy(seed, stepCount, servers)) return true;
  }
  return false;
}

async function playAllFlapping(): Promise<boolean> {
  const seed = numberIn(values.seed, 1);
  const played = await playFlapping(
    seed,
    numberIn(values.servers, 100),
    numberIn(values.hours, 24),
  );
  add(played);
  for (const problem of played.problems) console.log(problem);
  return played.problems.length > 0;
}

const trap = setRealTimeTrap();
const isBroken = values.flapping ? await playAllFlapping() : await playSchedules();
trap.release();
for (const caught of trap.catches.slice(0, 3)) console.log(`real time was touched: ${caught}`);
conclude(isBroken || trap.catches.length > 0);
