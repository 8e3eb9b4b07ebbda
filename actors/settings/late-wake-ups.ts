/**
 * The wake-ups of the settings, without RxJS until somebody needs it: to load it
 * takes 80 ms in which nothing else is heard, and at the start of a host that is
 * when all its servers begin to speak. So the first reading does without.
 */

import type { startWakeUps, WakeUpPorts, WakeUps } from './wake-ups.ts';

// The watch of the files begins with a touch, right at the start. A second is past the start; an
// edit waits that long at most, and only in the first second.
const startQuietMs = 1_000;

/** Like {@link startWakeUps}; the first command reads at once. */
export function startWakeUpsLate(ports: WakeUpPorts): ReturnType<typeof startWakeUps> {
  const { clock, read, take } = ports;
  const early = { command: false, added: false, touch: false };
  let dueInMs: number | undefined;
  let first: Promise<void> | undefined;
  let loading: Promise<void> | undefined;
  let present: WakeUps | undefined;
  let quietTimer: unknown;
  let isStopped = false;

  const readFirst = async (): Promise<void> => {
    const reading = await read('all');
    if (isStopped) return;
    if (reading.againInMs !== undefined) later(reading.againInMs);
    take(reading);
  };
  const loadAfterFirst = async (): Promise<void> => {
    await first;
    const { startWakeUps: start } = await import('./wake-ups.ts');
    if (isStopped) return;
    present = start(ports);
    if (dueInMs !== undefined) present.later(dueInMs);
    if (early.touch) present.touch();
    if (early.command) present.command();
    if (early.added) present.added();
  };
  const load = (): void => {
    if (!isStopped) loading ??= loadAfterFirst();
  };
  const later = (delayMs: number): void => {
    if (present !== undefined) {
      present.later(delayMs);
      return;
    }
    dueInMs = delayMs;
    load();
  };

  return {
    command: () => {
      if (present !== undefined) present.command();
      else if (first === undefined) first = readFirst();
      else {
        early.command = true;
        load();
      }
    },
    added: () => {
      if (present !== undefined) present.added();
      else {
        early.added = true;
        load();
      }
    },
    touch: () => {
      if (present !== undefined) {
        present.touch();
        return;
      }
      early.touch = true;
      quietTimer ??= clock.setTimeout(load, startQuietMs);
    },
    later,
    stop: () => {
      isStopped = true;
      clock.clearTimeout(quietTimer);
      present?.stop();
    },
  };
}
