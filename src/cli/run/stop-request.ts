/**
 * Turns signals into requests to stop: the first asks, the second insists.
 *
 * One key press may arrive twice: the terminal signals the whole process group, and package runners
 * forward the signal as well.
 */

import { constants } from 'node:os';
import type { CliHost, StopSignal } from '../cli-host.ts';

/** Runners forward a signal within about 30 ms; a user cannot press a key twice that fast. */
const samePressMs = 100;

export interface StopRequest {
  /** Fires at the first signal. */
  readonly signal: AbortSignal;
  /** The first signal received. */
  received(): StopSignal | undefined;
  /** Called at the second signal. */
  onInsist(listener: () => void): void;
  /** Restores the default effect of signals. */
  dispose(): void;
}

/** Listens for signals until `dispose` is called. */
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

/** The exit code after a signal: 128 plus its number. */
export function exitCodeOfSignal(signal: StopSignal): number {
  return 128 + constants.signals[signal];
}

/** Why a command that keeps running ends; undefined for a signal or a reader that closed our output. */
export type End = { readonly crash: unknown } | undefined;

/**
 * Runs a command that goes on until a signal, a closed output or a crash ends it.
 *
 * @param run - returns why it ended, after cleaning up; `ended` resolves with the reason
 * @returns the exit code of the signal; 0 without one
 * @throws what crashed the process
 */
export async function untilStopped(
  host: Pick<CliHost, 'onStopSignal' | 'onOutputClosed' | 'onCrash'>,
  run: (ended: Promise<End>, request: StopRequest) => Promise<End>,
): Promise<number> {
  const request = listenForStop(host);
  const ended = new Promise<End>((resolve) => {
    request.signal.addEventListener('abort', () => resolve(undefined));
    host.onOutputClosed(() => resolve(undefined));
    host.onCrash((crash) => resolve({ crash }));
  });
  try {
    const end = await run(ended, request);
    if (end !== undefined) throw end.crash;
  } finally {
    request.dispose();
  }
  const received = request.received();
  return received === undefined ? 0 : exitCodeOfSignal(received);
}
