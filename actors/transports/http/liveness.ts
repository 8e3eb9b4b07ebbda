/**
 * Probes a remote server once when something suggests that it may be gone. Any message from the
 * server proves that it is alive. While calls are pending, its silence means that it is busy.
 */

import type { Clock } from '../../../src/domain/clock.ts';
import { isRpcAnswer, statusOf } from '../connection/failure.ts';

// Servers that sleep while idle need a few seconds to wake up.
const silenceMs = 5_000;
const tooManyRequests = 429;

/** What a probe needs of a client. */
export interface Probed {
  readonly getProtocolEra: () => 'legacy' | 'modern' | undefined;
  readonly ping: () => Promise<unknown>;
  readonly discover: () => Promise<unknown>;
}

export type Liveness = ReturnType<typeof createLiveness>;

/**
 * `isBusy` returns whether calls are pending; each has its own deadline. `onLost` receives the
 * error of the failed probe, at most once.
 */
export function createLiveness(
  client: Probed,
  clock: Clock,
  isBusy: () => boolean,
  onLost: (error: unknown) => void,
) {
  let state: 'idle' | 'asking' | 'stopped' = 'idle';
  let timer: unknown;
  /** Whether a message has arrived since the last hint. */
  let wasHeard = false;

  const calm = (): void => {
    clock.clearTimeout(timer);
    timer = undefined;
  };
  const lose = (error: unknown): void => {
    if (state !== 'asking') return;
    stop();
    onLost(error);
  };
  const listen = (): void => {
    timer = clock.setTimeout(() => {
      if (isBusy()) return listen();
      const silence = new Error('The server did not answer any more.');
      lose(Object.assign(silence, { code: 'REQUEST_TIMEOUT' }));
    }, silenceMs);
  };
  const ask = async (): Promise<void> => {
    try {
      // Bounded by the timer, and by the end of the session.
      if (client.getProtocolEra() === 'modern') await client.discover();
      else await client.ping();
    } catch (error) {
      // Any response, even "method not found" or "too many requests", proves that the server is alive.
      if (statusOf(error) !== tooManyRequests && !isRpcAnswer(error) && !wasHeard)
        return lose(error);
    }
    calm();
    if (state === 'asking') state = 'idle';
  };
  const stop = (): void => {
    state = 'stopped';
    calm();
  };

  return {
    /** Starts a probe, unless one is running. */
    suspect(): void {
      // Until the handshake is over, connecting is the probe.
      if (state === 'stopped' || client.getProtocolEra() === undefined) return;
      wasHeard = false;
      if (state === 'idle') {
        state = 'asking';
        void ask();
      }
      if (timer === undefined) listen();
    },
    /** Called when a message arrives from the server. */
    heard(): void {
      wasHeard = true;
      calm();
    },
    stop,
  };
}
