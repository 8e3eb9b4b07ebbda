/** The names of the servers that a command may mean; starts nothing. */

import { findRunning } from '../control/running-troupe.ts';
import { type Launch, troupeOptionsOf } from '../launch.ts';

/** The servers of the running troupe; without one of the same flags, those in the settings. */
export async function serverNames(launch: Launch): Promise<readonly string[]> {
  const running = await findRunning(launch);
  try {
    if (running !== undefined && running.differences.length === 0) {
      const { servers } = await running.client.request('status', {});
      return servers.map(({ name }) => name);
    }
  } finally {
    running?.client.close();
  }
  // Loaded late: a running troupe makes it unnecessary.
  const { previewPlan } = await import('../../runtime/preview-plan.ts');
  const { steps } = await previewPlan(troupeOptionsOf(launch));
  return steps.map(({ server }) => server);
}
