/** The process of one row: performs it on a fresh stage, and tells what was seen and what is wrong. */

import type { Seen } from './expectation.ts';
import { differences } from './judge.ts';
import { nameOf, type Row } from './row.ts';
import { rows } from './rows.ts';
import type { Performance } from './run-rows.ts';
import { Stage, type StagePlace } from './stage.ts';

// Five seconds are promised; the rest is for a busy machine.
const stopLimitMs = 5_500;

export interface Order {
  readonly name: string;
  readonly place: StagePlace;
}

const mishaps: string[] = [];
const warnings: string[] = [];
process.on('uncaughtException', (error) => mishaps.push(`uncaught in the host: ${String(error)}`));
process.on('unhandledRejection', (error) =>
  mishaps.push(`unhandled in the host: ${String(error)}`),
);
process.on('warning', ({ name, message }) => {
  if (name === 'TroupeWarning') warnings.push(message);
});

process.once('message', (order: Order) => {
  void obey(order);
});

async function obey({ name, place }: Order): Promise<void> {
  // The answer must get out although nothing else may be left to do.
  process.channel?.ref();
  const row = rows.find((candidate) => nameOf(candidate) === name);
  if (row === undefined || 'absent' in row) throw new Error(`There is no row ${name}.`);
  const performance = await perform(row, new Stage(place, row));
  // Its exit is part of the test: whatever keeps this process alive is a finding, too.
  process.send?.(performance, () => process.disconnect());
}

async function perform(row: Row, stage: Stage): Promise<Performance> {
  const from = performance.now();
  let seen: Seen = {};
  const problems: string[] = [];
  try {
    seen = await row.run(stage);
    problems.push(...differences(row.expect, seen));
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  const ms = Math.round(performance.now() - from);
  try {
    const stopMs = await stage.stop();
    if (stopMs !== undefined && stopMs > stopLimitMs) problems.push(`stop took ${stopMs} ms`);
  } catch (error) {
    problems.push(`stop failed: ${String(error)}`);
  }
  try {
    await stage.clear();
  } catch (error) {
    problems.push(`the row could not be cleared: ${String(error)}`);
  }
  const warned = warnings
    .filter((message) => !stage.isExpectedWarning(message))
    .map((message) => `the troupe warned: ${message.slice(0, 300)}`);
  return { seen, problems: [...problems, ...mishaps, ...warned], ms };
}
