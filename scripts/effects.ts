/**
 * npm run effects: ten thousand calls whose runs are counted on disk, while their servers die at
 * every place a call passes.
 *
 *     npm run effects -- --calls 10000 --seed 1
 *
 * Exit code 1 when a tool ran twice for one call, when a caller was told that a call did not run
 * and it did, or that it ran and it did not.
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
  `\n${ends.length} calls settled, seed ${values.seed}, ${seconds} s; ${lies.length} were told something untrue`,
);
process.exitCode = lies.length === 0 ? 0 : 1;
