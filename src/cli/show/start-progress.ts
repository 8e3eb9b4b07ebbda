/** Shows at a terminal which servers are still starting. */

import { printableLine } from '../../domain/data/printable.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { isOnItsWay } from '../../domain/server-state.ts';
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
