/**
 * Turns signals into a request to stop: the first asks, the second insists.
 *
 * A key press may arrive twice: the terminal signals the whole process group,
 * and package runners pass the signal on as well.
 */

import { constants } from 'node:os';
import type { CliHost, StopSignal } from '../cli-host.ts';

/** Runners pass a signal on within some 30 ms; nobody presses a key twice that fast on purpose. */
const samePressMs = 100;

export interface StopRequest {
  /** Fires at the first signal. */
  readonly signal: AbortSignal;
  /** The first signal, once it came. */
  received(): StopSignal | undefined;
  /** Called at the second signal. */
  onInsist(listener: () => void): void;
  /** Lets signals end the process again. */
  dispose(): void;
}

/** Listens for signals until disposed of. */
export function listenForStop(host: Pick<CliHost, 'onStopSignal'>): StopRequest {
  const asked = new AbortController();
  const insistListeners: (() => void)[] = [];
  let first: { readonly signal: StopSignal; readonly atMs: number } | undefined;
  const dispose = host.onStopSignal((signal) => {
    const atMs = performance.now();
    if (first === undefined) {
      first = { signal, atMs };
      asked.abort();
    } else if (atMs - first.atMs > samePressMs) {
      for (const listener of insistListeners) listener();
    }
  });
  return {
    signal: asked.signal,
    received: () => first?.signal,
    onInsist: (listener) => void insistListeners.push(listener),
    dispose,
  };
}

/** The exit code that tells a parent which signal ended us: 128 plus its number. */
export function exitCodeOfSignal(signal: StopSignal): number {
  return 128 + constants.signals[signal];
}

/** Settles with the first reason to end: a signal, nobody reading our output, or a crash. */
export function endOf(
  host: Pick<CliHost, 'onOutputClosed' | 'onCrash'>,
  request: StopRequest,
): Promise<{ readonly error: unknown } | undefined> {
  return new Promise((resolve) => {
    request.signal.addEventListener('abort', () => resolve(undefined));
    host.onOutputClosed(() => resolve(undefined));
    host.onCrash((error) => resolve({ error }));
  });
}
