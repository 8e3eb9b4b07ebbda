/**
 * Keeps a legacy server's subscriptions and log level as hosts want them. A modern server learns both
 * from other requests.
 *
 * They are reconciled whenever they may differ from what the server was last sent, one request at a
 * time. A resource that the server refused is not requested again in this session.
 */

import type { Clock } from '../../../src/domain/clock.ts';
import type { LogLevel } from '../../../src/domain/log-level.ts';
import type { Client } from '../../../src/protocol/mcp-client.ts';

// Applies to each request; well below the limit for a whole list.
const answerMs = 10_000;

/** Returns a function that reconciles the server's subscriptions with the wanted ones. */
export function subscriptionReconciler({
  client,
  clock,
  isOpen,
  wanted,
  onSubscribed,
  onRefused,
}: {
  readonly client: Client;
  readonly clock: Clock;
  readonly isOpen: () => boolean;
  readonly wanted: () => readonly string[];
  /** Whether the server accepted the subscription. */
  readonly onSubscribed: (uri: string) => void;
  readonly onRefused: (uri: string, error: unknown) => void;
}): () => void {
  const subscribed = new Set<string>();
  const refused = new Set<string>();
  const within = { clock, ms: answerMs };

  const subscribe = async (uri: string): Promise<void> => {
    try {
      await client.request('subscribe', { uri }, { within });
      subscribed.add(uri);
      if (isOpen()) onSubscribed(uri);
    } catch (error) {
      refused.add(uri);
      if (isOpen()) onRefused(uri, error);
    }
  };
  const unsubscribe = async (uri: string): Promise<void> => {
    subscribed.delete(uri);
    // Updates that still arrive are dropped, because no host watches the resource.
    await client.request('unsubscribe', { uri }, { within }).catch(() => {});
  };
  return createCoalescer(async () => {
    const watched = new Set(wanted());
    for (const uri of refused) if (!watched.has(uri)) refused.delete(uri);
    for (const uri of [...subscribed]) if (isOpen() && !watched.has(uri)) await unsubscribe(uri);
    for (const uri of watched) {
      if (isOpen() && !subscribed.has(uri) && !refused.has(uri)) await subscribe(uri);
    }
  });
}

/** Returns a function that reconciles the server's log level with the wanted one. */
export function logLevelReconciler(
  client: Client,
  clock: Clock,
  isOpen: () => boolean,
  wanted: () => LogLevel | undefined,
  onRefused: (error: unknown) => void,
): () => void {
  // The protocol has no request for turning the log off.
  let known: LogLevel | undefined;
  return createCoalescer(async () => {
    const level = wanted();
    const isNews = level !== undefined && level !== known;
    if (!isNews || !isOpen() || client.getProtocolEra() === 'modern') return;
    if (client.getServerCapabilities()?.logging === undefined) return;
    known = level;
    try {
      await client.request('setLogLevel', { level }, { within: { clock, ms: answerMs } });
    } catch (error) {
      if (isOpen()) onRefused(error);
    }
  });
}

/** Runs one reconciliation at a time; any number of requests during a run cause one more. */
export function createCoalescer(run: () => Promise<void>): () => void {
  let isRunning = false;
  let isWanted = false;
  const loop = async (): Promise<void> => {
    isRunning = true;
    do {
      isWanted = false;
      await run();
    } while (isWanted);
    isRunning = false;
  };
  return () => {
    isWanted = true;
    if (!isRunning) void loop();
  };
}
