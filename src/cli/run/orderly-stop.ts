/** Stops a troupe within a time limit: gracefully first, by force on a second signal or when time is up. */

import type { Clock } from '../../domain/clock.ts';
import type { ServerState } from '../../domain/server-state.ts';
import { realClock } from '../../runtime/real-clock.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import type { StopRequest } from './stop-request.ts';

/** Together with the forced stop, a stop takes at most 5 s. */
const orderlyMs = 4_500;

/** After a second Ctrl-C, the user's prompt returns within 600 ms, including the exit. */
const forcedMs = 500;

/** States in which a server has a process or a connection to end. */
const engaged: ReadonlySet<ServerState> = new Set([
  'connecting',
  'loadingTools',
  'ready',
  'degraded',
  'stopping',
]);

/** The servers that a graceful stop waits for. */
export function engagedServers(troupe: Troupe): readonly string[] {
  return troupe
    .snapshot()
    .servers.filter((server) => engaged.has(server.state))
    .map((server) => server.name);
}

export interface StopBounds {
  /** Skips the graceful stop, for example after a crash. Default: false. */
  readonly force?: boolean;
  /** Milliseconds of the five seconds already spent. Default: 0. */
  readonly spentMs?: number;
  /** Default: the real one. */
  readonly clock?: Pick<Clock, 'setTimeout' | 'clearTimeout'>;
}

/**
 * Resolves when everything has stopped: within 5 s, or within 500 ms of a second signal or with `force`.
 */
export async function stopOrderly(
  troupe: Pick<Troupe, 'stop' | 'send'>,
  request: Pick<StopRequest, 'onInsist'>,
  { force = false, spentMs = 0, clock = realClock }: StopBounds = {},
): Promise<void> {
  let timer: unknown;
  const insisted = new Promise<void>((resolve) => {
    request.onInsist(resolve);
    timer = clock.setTimeout(resolve, force ? 0 : Math.max(0, orderlyMs - spentMs));
  });
  const stopped = troupe.stop().catch(() => undefined);
  const outcome = await Promise.race([
    stopped.then(() => 'stopped' as const),
    insisted.then(() => 'insisted' as const),
  ]);
  clock.clearTimeout(timer);
  if (outcome === 'stopped') return;
  troupe.send({ type: 'troupe.kill' });
  await Promise.race([
    stopped,
    new Promise<void>((resolve) => {
      timer = clock.setTimeout(resolve, forcedMs);
    }),
  ]);
  clock.clearTimeout(timer);
}
