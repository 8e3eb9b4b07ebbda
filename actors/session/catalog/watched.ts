/**
 * Keeps a legacy server told which of its resources hosts watch. The wishes are
 * compared with what the server was told whenever they may differ, one request
 * at a time; what it refused is not asked for again in this session.
 */

import type { Client } from '@modelcontextprotocol/client';

import { createCoalescer } from './list.ts';

// For each address, well below the bound of a whole list.
const answerMs = 10_000;

export interface WatchedSetup {
  readonly client: Client;
  readonly isOpen: () => boolean;
  readonly wanted: () => readonly string[];
  /** The server was told of it, for the first time in this session. */
  readonly onTold: (uri: string) => void;
  readonly onRefused: (uri: string, error: unknown) => void;
}

/** Gives the function that looks whether the wishes still are what the server knows. */
export function createWatching(setup: WatchedSetup): () => void {
  const { client, isOpen, wanted, onTold, onRefused } = setup;
  const told = new Set<string>();
  const refused = new Set<string>();

  const tell = async (uri: string): Promise<void> => {
    try {
      await client.subscribeResource({ uri }, { timeout: answerMs });
      told.add(uri);
      if (isOpen()) onTold(uri);
    } catch (error) {
      refused.add(uri);
      if (isOpen()) onRefused(uri, error);
    }
  };
  const untell = async (uri: string): Promise<void> => {
    told.delete(uri);
    // News of it that still come are dropped by whoever asked for none.
    await client.unsubscribeResource({ uri }, { timeout: answerMs }).catch(() => {});
  };
  return createCoalescer(async () => {
    const wishes = new Set(wanted());
    for (const uri of refused) if (!wishes.has(uri)) refused.delete(uri);
    for (const uri of [...told]) if (isOpen() && !wishes.has(uri)) await untell(uri);
    for (const uri of wishes) {
      if (isOpen() && !told.has(uri) && !refused.has(uri)) await tell(uri);
    }
  });
}
