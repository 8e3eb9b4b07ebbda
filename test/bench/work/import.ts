/** Time of the import in a fresh process, with the files in the system's cache. */

import { entryOf } from '../contenders.ts';
import { isolatedRounds, measure, ratioAtMost, timed, type Work } from '../work.ts';

async function job({ contender }: { readonly contender: string }): Promise<unknown> {
  const { importOnly } = entryOf(contender);
  const { ms } = await timed(importOnly);
  return { time: ms, rss: process.memoryUsage().rss / 1_024 / 1_024 };
}

export const importWork: Work = {
  name: 'import',
  measures: [
    measure('time', 'import', 'ms', ratioAtMost(0.9)),
    measure('rss', 'memory of the process after the import', 'MB', ratioAtMost(1.05)),
  ],
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
