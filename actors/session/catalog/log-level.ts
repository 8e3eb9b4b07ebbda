/**
 * Keeps a legacy server told from which level on its log is wanted. A modern one is told with each
 * request instead. There is no way to say that nobody wants it any more.
 */

import type { Client } from '@modelcontextprotocol/client';

import type { LogLevel } from '../../../src/domain/log-level.ts';
import { createCoalescer } from './list.ts';

const answerMs = 10_000;

export interface LogLevelSetup {
  readonly client: Client;
  readonly isOpen: () => boolean;
  readonly wanted: () => LogLevel | undefined;
  readonly onRefused: (error: unknown) => void;
}

/** Gives the function that looks whether the level still is what the server knows. */
export function createLogLevel({ client, isOpen, wanted, onRefused }: LogLevelSetup): () => void {
  let told: LogLevel | undefined;
  return createCoalescer(async () => {
    const level = wanted();
    const isNews = level !== undefined && level !== told;
    if (!isNews || !isOpen() || client.getProtocolEra() === 'modern') return;
    if (client.getServerCapabilities()?.logging === undefined) return;
    told = level;
    try {
      await client.setLoggingLevel(level, { timeout: answerMs });
    } catch (error) {
      if (isOpen()) onRefused(error);
    }
  });
}
