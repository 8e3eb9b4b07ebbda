/**
 * Listens for changed tools of a modern server, which tells only those who
 * asked. A stream that ends is opened again, after waits that double.
 */

import type { Client, McpSubscription } from '@modelcontextprotocol/client';

import type { Clock } from '../src/domain/clock.ts';

const shortestMs = 1_000;
const longestMs = 300_000;
const acknowledgeMs = 30_000;

export interface Listening {
  stop(): void;
}

export function createListening(client: Client, clock: Clock, onEnded: () => void): Listening {
  const controller = new AbortController();
  let timer: unknown;
  let waitMs = shortestMs;

  const listen = async (): Promise<void> => {
    const startedAt = clock.now();
    let isAcknowledged = false;
    try {
      const subscription: McpSubscription = await client.listen(
        { toolsListChanged: true },
        { timeout: acknowledgeMs, signal: controller.signal },
      );
      isAcknowledged = true;
      await subscription.closed;
    } catch {
      // A server that cannot be listened to is asked again, ever more rarely.
    }
    if (controller.signal.aborted) return;
    waitMs =
      isAcknowledged && clock.now() - startedAt > longestMs / 5
        ? shortestMs
        : Math.min(waitMs * 2, longestMs);
    timer = clock.setTimeout(() => {
      // What changed while nobody listened is not told again.
      if (isAcknowledged) onEnded();
      void listen();
    }, waitMs);
  };

  if (client.getServerCapabilities()?.tools?.listChanged === true) void listen();
  return {
    stop() {
      controller.abort();
      clock.clearTimeout(timer);
    },
  };
}
