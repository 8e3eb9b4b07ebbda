/**
 * Tells how busy the processor cores of this machine were, again and again.
 *
 * Input: none. Sends `machine.measured` about every 25 ms while it lives: how many
 * cores were busy since the time before. Waiting for a disk and time that a
 * neighbour of a virtual machine took count as busy. A machine that does not tell
 * is not spoken of. Accepts nothing; never throws; after it was stopped it sends
 * nothing. Its timer keeps no process alive.
 */

import { cpus } from 'node:os';
import { type EventObject, fromCallback } from 'xstate';

import type { CoreReading, MeterFact } from '../machines/slots.ts';
import type { Clock } from '../src/domain/clock.ts';

/** Milliseconds that all cores together have idled since the machine was started. */
export interface IdleTime {
  readonly coreCount: number;
  readonly idleMs: number;
}

export interface CoreMeterPorts {
  readonly clock: Clock;
  /** Default: asks the machine. */
  readonly read?: () => IdleTime;
}

// Systems count in steps of 10 ms, so that shorter windows would be mostly error; longer ones
// would leave the cores idle for as long, and a light server is up within 50 ms.
const windowMs = 20;

export function createCoreMeter({ clock, read = readIdleTime }: CoreMeterPorts) {
  return fromCallback<EventObject, Record<string, never>>(({ sendBack }) => {
    let before = read();
    let beforeAt = clock.now();
    let timer: unknown;
    const measure = (): void => {
      const now = read();
      const nowAt = clock.now();
      const reading = readingOf(before, now, nowAt - beforeAt);
      before = now;
      beforeAt = nowAt;
      timer = startTimer(clock, measure);
      if (reading !== undefined)
        sendBack({ type: 'machine.measured', ...reading } satisfies MeterFact);
    };
    timer = startTimer(clock, measure);
    return () => clock.clearTimeout(timer);
  });
}

function startTimer(clock: Clock, callback: () => void): unknown {
  const timer = clock.setTimeout(callback, windowMs);
  (timer as { unref?: () => void }).unref?.();
  return timer;
}

function readingOf(before: IdleTime, now: IdleTime, elapsedMs: number): CoreReading | undefined {
  const { coreCount } = now;
  // A core that came or went makes the difference mean nothing.
  if (coreCount === 0 || coreCount !== before.coreCount || elapsedMs <= 0) return undefined;
  const idleCores = (now.idleMs - before.idleMs) / elapsedMs;
  return { coreCount, busyCores: Math.min(coreCount, Math.max(0, coreCount - idleCores)) };
}

function readIdleTime(): IdleTime {
  const cores = cpus();
  return {
    coreCount: cores.length,
    idleMs: cores.reduce((sum, { times }) => sum + times.idle, 0),
  };
}
