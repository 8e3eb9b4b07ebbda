/** `up` while a troupe runs in the background. */

import { defined } from '../../domain/data/defined.ts';
import { usageError } from '../../domain/user-errors.ts';
import type { CliSession } from '../command.ts';
import { findRunning } from '../control/running-troupe.ts';
import { retire } from '../control/start.ts';
import { watchStatus } from '../run/watch-status.ts';

interface OwnFlags {
  readonly inspect?: number;
  readonly journal?: string | true;
  readonly root?: readonly string[];
  readonly telemetry?: true;
}

/**
 * Ends a troupe in the background that has no clients, so that `up` takes its place; otherwise starts all its
 * servers and shows it.
 * @returns the exit code; undefined if `up` has to run a troupe itself
 */
export async function joinBackground(
  session: CliSession,
  { inspect, journal, root, telemetry }: OwnFlags,
): Promise<number | undefined> {
  const { launch, output } = session;
  const running = await findRunning(launch).catch(() => undefined);
  if (running === undefined) return undefined;
  const { client, identity, differences } = running;
  try {
    if (identity.background !== true || (await retire(running))) return undefined;
    const own = Object.keys(defined({ journal, root, telemetry }));
    const flags = [...own.map((name) => `--${name}`), ...differences];
    if (flags.length > 0)
      throw usageError(
        `the troupe in the background (pid ${identity.pid}) has other clients, so ${flags.join(' and ')} would have no effect; leave that out, or end it with: kill ${identity.pid}`,
      );
    const { troupe } = await client.request('status', {});
    const names = (troupe.clients ?? []).map(({ name }) => name);
    output.note(
      `showing the troupe in the background (pid ${identity.pid}), which others use: ${names.join('; ')}`,
    );
    if (inspect !== undefined)
      output.note(`live charts: ${(await client.request('inspect', {})).url}`);
    // Also starts the servers.
    await client.request('tools', { timeoutMs: 1 });
    return await watchStatus(session, client, await client.request('status', {}), () => true);
  } finally {
    client.close();
  }
}
