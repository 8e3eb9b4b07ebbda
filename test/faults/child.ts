/** The process of one row: runs it with a fresh troupe, and reports the facts and problems it saw. */

import { serveTask } from '../lab/run-child.ts';
import { differences, type Seen } from './expectation.ts';
import type { Row } from './row.ts';
import { rows } from './rows.ts';
import type { Performance } from './run-rows.ts';
import { Stage, type StagePlace } from './stage.ts';

// Five seconds are promised; the rest is for a busy machine.
const stopLimitMs = 5_500;

export interface RowTask {
  readonly name: string;
  /** Whether the verdict leaves out times, which depend on the machine. */
  readonly ignoresTimes: boolean;
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

// For settings that reference a secret.
process.env['FAULTS_SECRET'] = 'hunter2-hunter2';

serveTask(async ({ name, ignoresTimes, place }: RowTask) => {
  const row = rows[name];
  if (row === undefined) throw new Error(`There is no row ${name}.`);
  const expected = Object.entries(row.expect);
  const counted = expected.filter(([fact]) => !(ignoresTimes && fact.endsWith('Ms')));
  const expect = Object.fromEntries(counted);
  return perform({ ...row, expect }, new Stage(place, row), ignoresTimes ? Infinity : stopLimitMs);
});

async function perform(row: Row, stage: Stage, mostStopMs: number): Promise<Performance> {
  const from = performance.now();
  let seen: Seen = {};
  const problems: string[] = [];
  const attempt = async (prefix: string, act: () => Promise<void>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      problems.push(`${prefix}${error instanceof Error ? error.message : String(error)}`);
    }
  };
  await attempt('', async () => {
    seen = await row.run(stage);
    problems.push(...differences(row.expect, seen));
  });
  const ms = Math.round(performance.now() - from);
  await attempt('stop failed: ', async () => {
    const stopMs = await stage.stop();
    if (stopMs !== undefined && stopMs > mostStopMs) problems.push(`stop took ${stopMs} ms`);
  });
  await attempt('the row could not be cleared: ', () => stage.clear());
  if (Object.keys(Object.prototype).length > 0) problems.push('a prototype was polluted');
  const warned = warnings
    .filter((message) => !stage.isExpectedWarning(message))
    .map((message) => `the troupe warned: ${message.slice(0, 300)}`);
  return { seen, problems: [...problems, ...mishaps, ...warned], ms };
}
