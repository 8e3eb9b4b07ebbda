/**
 * Tells how busy the processor cores of this machine were, again and again, and who of
 * the servers that start worked meanwhile.
 *
 * Input: the actors to watch; accepts `meter.watch` with those to watch from then on,
 * and `io.dispose`. Sends `machine.measured` about every 25 ms while it lives: how many cores were busy
 * since the time before, and which of the watched worked or waited, as far as their
 * processes are known and the system tells. Waiting for a disk and time that a
 * neighbour of a virtual machine took count as busy. A machine that does not tell
 * is not spoken of. Never throws; after it was stopped it sends nothing. Its timer
 * keeps no process alive.
 */

import { cpus } from 'node:os';
import { fromCallback } from 'xstate';

import type { CoreReading, MeterCommand, MeterFact, MeterInput } from '../../machines/slots.ts';
import type { Clock } from '../../src/domain/clock.ts';
import type { ProcessKeeper } from './keeper.ts';
import { ProcessWork, type Work } from './work.ts';

/** Milliseconds that all cores together have idled since the machine was started. */
export interface IdleTime {
  readonly coreCount: number;
  readonly idleMs: number;
}

export interface CoreMeterPorts {
  readonly clock: Clock;
  /** Default: asks the machine. */
  readonly read?: () => IdleTime;
  /** The process that a server actor started; undefined while it has none. Default: none has. */
  readonly processOf?: ProcessKeeper['processOf'];
}

// Systems count in steps of 10 ms, so that shorter windows would be mostly error; longer ones
// would leave the cores idle for as long, and a light server is up within 50 ms.
const windowMs = 20;

export function createCoreMeter({ clock, read = readIdleTime, processOf }: CoreMeterPorts) {
  return fromCallback<MeterCommand, MeterInput>(({ sendBack, receive, input }) => {
    const processes = new ProcessWork();
    let { actorIds } = input;
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
      if (reading === undefined) return;
      const work = workOf(actorIds, processes, processOf);
      sendBack({ type: 'machine.measured', ...reading, ...work } satisfies MeterFact);
    };
    timer = startTimer(clock, measure);
    const end = (): void => clock.clearTimeout(timer);
    receive((command) => {
      if (command.type === 'meter.watch') ({ actorIds } = command);
      else end();
    });
    return end;
  });
}

function startTimer(clock: Clock, callback: () => void): unknown {
  const timer = clock.setTimeout(callback, windowMs);
  (timer as { unref?: () => void }).unref?.();
  return timer;
}

function workOf(
  actorIds: readonly string[],
  processes: ProcessWork,
  processOf: CoreMeterPorts['processOf'],
): Pick<MeterFact, 'working' | 'waiting'> {
  const known = actorIds.flatMap((actorId) => {
    const process = processOf?.(actorId);
    return process === undefined ? [] : [{ actorId, ...process }];
  });
  const found = processes.look(known.map(({ pid }) => pid));
  // Whoever was asked nothing yet waits for us, who load what speaks to it.
  const workAt = (pid: number, isAsked: boolean): Work | undefined =>
    found.get(pid) === 'waits' && !isAsked ? 'works' : found.get(pid);
  const those = (work: Work): readonly string[] =>
    known.filter(({ pid, isAsked }) => workAt(pid, isAsked) === work).map(({ actorId }) => actorId);
  return { working: those('works'), waiting: those('waits') };
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
