/** Ends a troupe within bounds: orderly at first, by force when a person insists or time is up. */

import type { Clock } from '../../domain/clock.ts';
import type { ServerState } from '../../domain/server-state.ts';
import { realClock } from '../../runtime/real-clock.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import type { StopRequest } from './stop-request.ts';

/** With the forced end after it, 5 s in all: that is what we promise whoever stops us. */
const orderlyMs = 4_500;

/** A person who pressed Ctrl-C twice gets the prompt back within 600 ms, exit included. */
const forcedMs = 500;

/** States in which a server has a process or a connection to end. */
const engaged: ReadonlySet<ServerState> = new Set([
  'connecting',
  'loadingTools',
  'ready',
  'degraded',
  'stopping',
]);

/** The servers that an orderly stop has to wait for. */
export function engagedServers(troupe: Troupe): readonly string[] {
  return troupe
    .snapshot()
    .servers.filter((server) => engaged.has(server.state))
    .map((server) => server.name);
}

export interface StopBounds {
  /** Order cannot be trusted any more. Default: false. */
  readonly force?: boolean;
  /** How much of the five seconds is over already, in milliseconds. Default: 0. */
  readonly spentMs?: number;
  /** Default: the real one. */
  readonly clock?: Pick<Clock, 'setTimeout' | 'clearTimeout'>;
}

/**
 * Settles when everything is gone: after 5 s at the latest, 500 ms after a
 * second signal; after 500 ms when it has to be forced.
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
