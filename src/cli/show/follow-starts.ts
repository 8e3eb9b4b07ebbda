/** Shows at a terminal how servers of the running troupe start, for a short while. */

import { withinTime } from '../../../actors/host/time-limit.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { realClock } from '../../runtime/real-clock.ts';
import type { CliSession } from '../command.ts';
import type { ControlClient } from '../control/control-client.ts';
import { isSettled } from '../control/settled-servers.ts';
import { showStartProgress } from './start-progress.ts';

/** Most servers need a second or two; a user waits no longer for the rest. */
const longestMs = 10_000;

/**
 * Shows progress until all have settled, for ten seconds, or until Ctrl-C, which ends the wait alone. Returns the statuses then; none without a
 * terminal.
 */
export async function followStarts(
  { host, output }: CliSession,
  client: ControlClient,
  names: readonly string[],
): Promise<ReadonlyMap<string, ServerStatus>> {
  const latest = new Map<string, ServerStatus>();
  if (!output.showsProgress || names.length === 0) return latest;
  let redraw: () => void = () => undefined;
  const settled = new Promise<void>((resolve) => {
    const learn = (status: ServerStatus): void => {
      if (!names.includes(status.name)) return;
      latest.set(status.name, status);
      redraw();
      if (names.every((name) => isSettledNow(latest.get(name)))) resolve();
    };
    const follow = client.follow(['status.changed'], (event) => {
      if (event.type === 'status.changed') learn(event.status);
    });
    // Progress is optional: the decision has been made.
    follow.then(resolve, resolve);
    // Asked after the events, so that no change is missed between the two.
    client.request('status', {}).then(({ servers }) => servers.forEach(learn), resolve);
  });
  const end = showStartProgress(output, {
    servers: () => [...latest.values()],
    onChange(listener) {
      redraw = listener;
      return () => undefined;
    },
  });
  const stop = new AbortController();
  const forget = host.onStopSignal(() => stop.abort());
  await withinTime(realClock, longestMs, settled, stop.signal);
  forget();
  end();
  return latest;
}

/** An approved server is still blocked until the next pass. */
function isSettledNow(status: ServerStatus | undefined): boolean {
  return status !== undefined && status.reason !== 'pendingApproval' && isSettled(status);
}
