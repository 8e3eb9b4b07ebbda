/**
 * Asks a remote server once whether it still lives, when something hints that
 * it may not. Any answer of the server means that it does.
 */

import { type Client, ProtocolError } from '@modelcontextprotocol/client';

import type { Clock } from '../src/domain/clock.ts';

const probeMs = 2_000;

export interface Liveness {
  /** A hint; any number of them during a question cause no other one. */
  suspect(): void;
  stop(): void;
}

/** `onLost` gets what the question failed with, at most once. */
export function createLiveness(
  client: Client,
  clock: Clock,
  onLost: (error: unknown) => void,
): Liveness {
  let state: 'idle' | 'asking' | 'stopped' = 'idle';
  let timer: unknown;

  const ask = async (): Promise<void> => {
    const silence = new Promise<never>((_resolve, reject) => {
      timer = clock.setTimeout(() => {
        reject(
          Object.assign(new Error('The server did not answer any more.'), {
            code: 'REQUEST_TIMEOUT',
          }),
        );
      }, probeMs);
    });
    const options = { timeout: probeMs * 2 };
    const isModern = client.getProtocolEra() === 'modern';
    await Promise.race([isModern ? client.discover(options) : client.ping(options), silence]);
  };

  return {
    suspect() {
      // Before the handshake is over, connecting itself is the question.
      if (state !== 'idle' || client.getProtocolEra() === undefined) return;
      state = 'asking';
      ask()
        .catch((error: unknown) => {
          // An error answer, even "method not found", was sent by somebody alive.
          if (state === 'asking' && !(error instanceof ProtocolError)) onLost(error);
        })
        .finally(() => {
          clock.clearTimeout(timer);
          if (state === 'asking') state = 'idle';
        });
    },
    stop() {
      state = 'stopped';
      clock.clearTimeout(timer);
    },
  };
}
