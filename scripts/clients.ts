/**
 * npm run clients: twenty clients share ten servers through the troupe in the background, while
 * clients, servers and the troupe are killed at random.
 *
 *     npm run clients -- --minutes 10 --seed 7
 *     npm run clients -- --seconds 60
 *
 * Prints one line per violation: a process too many or left over, a call without an outcome, a call that
 * ran twice, and anything that reached a client which it was not for. Exit code 1 if there is one.
 * Nothing is judged by time. Linux only: it reads the process table.
 */

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { findPublished } from '../test/bench/published.ts';
import { build } from '../test/lab/build.ts';
import { positiveNumber, readOrExit } from '../test/lab/command-line.ts';
import { Crowd } from './clients/crowd.ts';
import { Verdict } from './clients/verdict.ts';

const { seconds, seed } = readOrExit(() => {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      seconds: { type: 'string' },
      seed: { type: 'string', default: '1' },
    },
  });
  return {
    seconds:
      values.seconds === undefined
        ? 60 * positiveNumber('--minutes', values.minutes)
        : positiveNumber('--seconds', values.seconds),
    seed: positiveNumber('--seed', values.seed),
  };
});

const settleEverySeconds = 60;
const shownViolations = 50;

const { cli, about } = findPublished();
console.error(`running ${about}`);
if (!about.startsWith('dist')) await build();
const folder = mkdtempSync(path.join(tmpdir(), 'troupe-clients-'));
const verdict = new Verdict();
const crowd = new Crowd({ cli, folder, mark: randomUUID(), seed, verdict });
const settles = Math.max(1, Math.round(seconds / settleEverySeconds));
try {
  const violations = await crowd.run(seconds * 1_000, settles, () => {
    console.error(JSON.stringify(crowd.counts));
  });
  for (const violation of violations.slice(0, shownViolations)) console.log(violation);
  const { clients, servers, troupes, left } = crowd.counts;
  console.log(verdict.summary());
  console.log(
    `killed: ${clients} clients, ${servers} servers, ${troupes} times the troupe; ${left} clients left; seed ${seed}`,
  );
  console.log(`${violations.length} violations`);
  process.exitCode = violations.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
