/** Ends a troupe within bounds: orderly at first, by force when a person insists or time is up. */

import type { ServerState } from '../domain/server-state.ts';
import type { Troupe } from '../runtime/troupe.ts';
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

/**
 * Settles when everything is gone: after 5 s at the latest, 500 ms after a
 * second signal; after 500 ms when `force` says that order cannot be trusted any more.
 * `spentMs` of the five seconds are over already.
 */
export async function stopOrderly(
  troupe: Troupe,
  request: StopRequest,
  force = false,
  spentMs = 0,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const insisted = new Promise<void>((resolve) => {
    request.onInsist(resolve);
    timer = setTimeout(resolve, force ? 0 : Math.max(0, orderlyMs - spentMs));
  });
  const stopped = troupe.stop().catch(() => undefined);
  const outcome = await Promise.race([
    stopped.then(() => 'stopped' as const),
    insisted.then(() => 'insisted' as const),
  ]);
  clearTimeout(timer);
  if (outcome === 'stopped') return;
  troupe.send({ type: 'troupe.kill' });
  await Promise.race([
    stopped,
    new Promise<void>((resolve) => {
      timer = setTimeout(resolve, forcedMs);
    }),
  ]);
  clearTimeout(timer);
}
