/** Shows at a terminal which servers are still starting, and follows those of the running troupe. */

import { withinTime } from '../../../actors/host/time-limit.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { isOnItsWay } from '../../domain/server-state.ts';
import { realClock } from '../../runtime/real-clock.ts';
import type { CliSession } from '../command.ts';
import type { ControlClient } from '../control/control-client.ts';
import { isSettled } from '../control/settled-servers.ts';
import { shortDuration } from './durations.ts';
import type { Output } from './output.ts';
import { downloadNoteAfterMs } from './status-lines.ts';

/** The line counts seconds, to show that it is alive. */
const redrawEveryMs = 1_000;
/** The line is then cut to the terminal's width. */
const longestLine = 1_000;

export interface ProgressSource {
  readonly servers: () => readonly ServerStatus[];
  /** Subscribes to changes; returns how to unsubscribe. */
  readonly onChange: (listener: () => void) => () => void;
}

/** Shows the line from now on; returns how to end it. Does nothing without a terminal. */
export function showStartProgress(output: Output, source: ProgressSource): () => void {
  if (!output.showsProgress) return () => undefined;
  const startedMs = performance.now();
  const draw = (): void =>
    output.progress(progressText(source.servers(), performance.now() - startedMs));
  const unsubscribe = source.onChange(draw);
  const ticking = setInterval(draw, redrawEveryMs);
  draw();
  return () => {
    unsubscribe();
    clearInterval(ticking);
    output.progress(undefined);
  };
}

/** The line; undefined when no server is starting. */
export function progressText(
  servers: readonly ServerStatus[],
  elapsedMs: number,
): string | undefined {
  const waiting = servers.filter(({ state }) => isOnItsWay(state) || state === 'backingOff');
  if (waiting.length === 0) return undefined;
  const names = waiting
    .map((server) => `${server.name} (${stateText(server, elapsedMs)})`)
    .join(', ');
  const count = servers.length === 1 ? '' : `${waiting.length} of ${servers.length} servers: `;
  return printableLine(`waiting ${shortDuration(elapsedMs)} for ${count}${names}`, longestLine);
}

function stateText({ state, mayDownload, action }: ServerStatus, elapsedMs: number): string {
  const isLong = mayDownload === true && elapsedMs >= downloadNoteAfterMs;
  const why = action ?? (isLong ? 'may be downloading' : undefined);
  return why === undefined ? state : `${state}, ${why}`;
}

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
  let redraw = (): void => undefined;
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
