/** Time of the import in a fresh process, with the files in the system's cache. */

import { entryOf } from '../contenders.ts';
import { isolatedRounds, measure, ratioAtMost, type Work } from '../work.ts';

async function job({ contender }: { readonly contender: string }): Promise<unknown> {
  const { importOnly } = entryOf(contender);
  const from = performance.now();
  await importOnly();
  return { time: performance.now() - from };
}

export const importWork: Work = {
  name: 'import',
  measures: [measure('time', 'import', 'ms', ratioAtMost(1.3))],
  rounds: { full: 11, quick: 5 },
  async run(context) {
    const rounds = await isolatedRounds(
      { ...context, rounds: context.rounds + 1 },
      importWork,
      (contender) => ({ contender }),
    );
    // The first round fills the cache.
    return rounds.slice(1);
  },
  job,
};
