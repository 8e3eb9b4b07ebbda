/**
 * Stops commands and troupes: gracefully at the first signal, by force at the second or when time is up.
 *
 * One key press may arrive twice: the terminal signals the whole process group, and package runners
 * forward the signal as well.
 */

import { constants } from 'node:os';
import { withinTime } from '../../../actors/host/time-limit.ts';
import type { Clock } from '../../domain/clock.ts';
import { realClock } from '../../runtime/real-clock.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import type { CliHost, StopSignal } from '../cli-host.ts';

/** Runners forward a signal within about 30 ms; a user cannot press a key twice that fast. */
const samePressMs = 100;

/** Together with the forced stop, a stop takes at most 5 s. */
const orderlyMs = 4_500;

/** After a second Ctrl-C, the user's prompt returns within 600 ms, including the exit. */
const forcedMs = 500;

export interface StopRequest {
  /** Fires at the first signal. */
  readonly signal: AbortSignal;
  /** Fires at the second signal. */
  readonly insisted: AbortSignal;
  /** The first signal received. */
  received(): StopSignal | undefined;
  /** Restores the default effect of signals. */
  dispose(): void;
}

/** Listens for signals until `dispose` is called. */
export function listenForStop(host: Pick<CliHost, 'onStopSignal'>): StopRequest {
  const asked = new AbortController();
  const insisted = new AbortController();
  let first: { readonly signal: StopSignal; readonly atMs: number } | undefined;
  const dispose = host.onStopSignal((signal) => {
    const atMs = performance.now();
    if (first !== undefined && atMs - first.atMs > samePressMs) insisted.abort();
    first ??= { signal, atMs };
    asked.abort();
  });
  return {
    signal: asked.signal,
    insisted: insisted.signal,
    received: () => first?.signal,
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
 * @param unreadCode - the exit code when our output was closed
 * @returns the exit code of the signal
 * @throws what crashed the process
 */
export async function untilStopped(
  host: Pick<CliHost, 'onStopSignal' | 'onOutputClosed' | 'onCrash'>,
  run: (ended: Promise<End>, request: StopRequest) => Promise<End>,
  unreadCode = 0,
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
  return received === undefined ? unreadCode : exitCodeOfSignal(received);
}

/**
 * Stops a troupe; resolves within 5 s, or within 500 ms of a second signal or with `force`.
 *
 * @param options.force - skips the graceful stop, for example after a crash
 * @param options.spentMs - milliseconds of the five seconds already spent
 */
export async function stopOrderly(
  troupe: Pick<Troupe, 'send'> & { stop(): Promise<void> },
  { insisted }: Pick<StopRequest, 'insisted'>,
  {
    force = false,
    spentMs = 0,
    clock = realClock,
  }: { readonly force?: boolean; readonly spentMs?: number; readonly clock?: Clock } = {},
): Promise<void> {
  const stopped = troupe.stop().then(
    () => 'stopped',
    () => 'stopped',
  );
  const gracefulMs = force ? 0 : Math.max(0, orderlyMs - spentMs);
  if ((await withinTime(clock, gracefulMs, stopped, insisted)) !== undefined) return;
  troupe.send({ type: 'troupe.kill' });
  await withinTime(clock, forcedMs, stopped);
}
