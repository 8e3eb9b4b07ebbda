/**
 * npm run effects: compares the outcome that callers get with the runs that a tool counts on disk,
 * for ten thousand calls whose servers die at every point of a call.
 *
 *     npm run effects -- --calls 10000 --seed 1
 *
 * Exit code 1 when a tool ran twice for one call, or when an outcome is wrong: "not executed" for a
 * call that ran, or "executed" for one that did not.
 */

import { parseArgs } from 'node:util';

import { runEffects } from './effects/effect-calls.ts';
import { effectTable, liesIn } from './effects/verdict.ts';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
  },
});

const startedAt = performance.now();
const ends = await runEffects({
  calls: Number(values.calls),
  seed: Number(values.seed),
  onProgress: (done) => {
    if (done % 500 === 0) process.stderr.write(`${done} `);
  },
});
process.stderr.write('\n');
console.log(effectTable(ends));
const lies = liesIn(ends);
for (const { what, call } of lies.slice(0, 20)) console.log(what, JSON.stringify(call));
const seconds = Math.round((performance.now() - startedAt) / 1_000);
console.log(
  `\n${ends.length} calls settled, seed ${values.seed}, ${seconds} s; ${lies.length} got a wrong outcome`,
);
process.exitCode = lies.length === 0 ? 0 : 1;
