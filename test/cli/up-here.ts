/** Runs `up` in this process with the test's own troupe. */

import { onTestFinished } from 'vitest';
import { startCliHere, temporaryFolder } from './run-cli.ts';
import { createStandIn, statusOf } from './stand-in-troupe.ts';

/** Runs `up` until the test ends. */
export async function upHere(
  troupe = createStandIn({ servers: [statusOf('db')] }),
  ...more: string[]
) {
  const folder = temporaryFolder();
  const run = startCliHere(['up', ...more], { folder, troupe });
  onTestFinished(async () => {
    run.signal('SIGTERM');
    await run.finished;
  });
  await run.printed('servers: ');
  return { folder, run, troupe };
}
