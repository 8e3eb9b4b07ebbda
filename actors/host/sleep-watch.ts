/**
 * Notices that the machine slept, or that this process was held: by a lid that was
 * closed, a debugger, a signal, or work that let nothing else run.
 *
 * A timer that comes much later than it was due says so. Both clocks are asked: the
 * monotonic one stands still while a machine sleeps and goes on while only the
 * process is held; wall time goes on in both cases. A wall clock that is set
 * forward looks the same, and costs every server one question. One timer, which
 * keeps no process alive.
 */

import type { Clock } from '../../src/domain/clock.ts';

// Five seconds: as late as a wake-up is noticed at most, and so rare that it costs nothing.
const periodMs = 5_000;
// Ten seconds: no busy machine is that late, and no server minds a shorter pause.
const leastSleepMs = 10_000;

/**
 * Calls back after each sleep, before any deadline that ran out meanwhile is
 * looked at when the clock is a prompt one. Returns what ends the watch.
 */
export function watchSleep(clock: Clock, onWoke: () => void): () => void {
  let monotonicAt = 0;
  let wallAt = 0;
  let timer: unknown;
  const wait = (): void => {
    monotonicAt = clock.now();
    wallAt = clock.wallNow();
    timer = clock.setTimeout(look, periodMs);
    (timer as { unref?: () => void }).unref?.();
  };
  const look = (): void => {
    const elapsedMs = Math.max(clock.now() - monotonicAt, clock.wallNow() - wallAt);
    wait();
    if (elapsedMs - periodMs > leastSleepMs) onWoke();
  };
  wait();
  return () => clock.clearTimeout(timer);
}
