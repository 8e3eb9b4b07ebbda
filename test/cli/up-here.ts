/** Runs `up` in this process with the test's own troupe. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { startCliHere, temporaryFolder } from './run-cli.ts';
import { createStandIn, statusOf } from './stand-in-troupe.ts';

/** Runs `up` until the test ends; creates the relative files that `--config` names. */
export async function upHere(
  troupe = createStandIn({ servers: [statusOf('db')] }),
  ...more: string[]
) {
  const folder = temporaryFolder();
  for (const [index, word] of more.entries())
    if (more[index - 1] === '--config' && !path.isAbsolute(word))
      writeFileSync(path.join(folder, word), '{}');
  const run = startCliHere(['up', ...more], { folder, troupe });
  onTestFinished(async () => {
    run.signal('SIGTERM');
    await run.finished;
  });
  await run.printed('servers: ');
  return { folder, run, troupe };
}
