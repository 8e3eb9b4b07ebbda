/**
 * Keeps a legacy server informed of what hosts want: which resources they watch and from which
 * level on they want its log. A modern server learns both from other requests.
 *
 * The wishes are compared with what the server knows whenever they may differ, with one request at
 * a time. A resource that the server refused is not requested again in this session.
 */

import type { Client } from '@modelcontextprotocol/client';

import type { LogLevel } from '../../../src/domain/log-level.ts';

// For each request, well below the limit of a whole list.
const answerMs = 10_000;

export interface WatchingSetup {
  readonly client: Client;
  readonly isOpen: () => boolean;
  readonly wanted: () => readonly string[];
  /** The server accepted the subscription. */
  readonly onSubscribed: (uri: string) => void;
  readonly onRefused: (uri: string, error: unknown) => void;
}

/** Returns the function that compares the wanted subscriptions with the present ones. */
export function createWatching(setup: WatchingSetup): () => void {
  const { client, isOpen, wanted, onSubscribed, onRefused } = setup;
  const subscribed = new Set<string>();
  const refused = new Set<string>();

  const subscribe = async (uri: string): Promise<void> => {
    try {
      await client.subscribeResource({ uri }, { timeout: answerMs });
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
    await client.unsubscribeResource({ uri }, { timeout: answerMs }).catch(() => {});
  };
  return createCoalescer(async () => {
    const wishes = new Set(wanted());
    for (const uri of refused) if (!wishes.has(uri)) refused.delete(uri);
    for (const uri of [...subscribed]) if (isOpen() && !wishes.has(uri)) await unsubscribe(uri);
    for (const uri of wishes) {
      if (isOpen() && !subscribed.has(uri) && !refused.has(uri)) await subscribe(uri);
    }
  });
}

export interface LogLevelSetup {
  readonly client: Client;
  readonly isOpen: () => boolean;
  readonly wanted: () => LogLevel | undefined;
  readonly onRefused: (error: unknown) => void;
}

/** Returns the function that compares the wanted log level with the server's. */
export function createLogLevel({ client, isOpen, wanted, onRefused }: LogLevelSetup): () => void {
  // The protocol has no way to say that the log is no longer wanted.
  let known: LogLevel | undefined;
  return createCoalescer(async () => {
    const level = wanted();
    const isNews = level !== undefined && level !== known;
    if (!isNews || !isOpen() || client.getProtocolEra() === 'modern') return;
    if (client.getServerCapabilities()?.logging === undefined) return;
    known = level;
    try {
      await client.setLoggingLevel(level, { timeout: answerMs });
    } catch (error) {
      if (isOpen()) onRefused(error);
    }
  });
}

/** Runs one at a time; any number of requests during a run cause one more. */
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
