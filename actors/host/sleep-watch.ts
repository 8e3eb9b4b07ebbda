/**
 * Detects that the machine slept or that this process was suspended, for example by a closed lid, a
 * debugger, a signal, or work that blocked the event loop.
 *
 * A timer is compared with two clocks. The monotonic clock stops while the machine sleeps but runs
 * on while only the process is suspended; wall time runs on in both cases. Setting the wall clock
 * forward looks the same and costs one health check per server. The timer does not keep the process
 * alive.
 */

import type { Clock } from '../../src/domain/clock.ts';

// Five seconds: the longest delay before a wake-up is noticed, and infrequent enough to cost
// nothing.
const periodMs = 5_000;
// Ten seconds: a busy machine is never that late, and shorter pauses cause no problems.
const leastSleepMs = 10_000;

/**
 * Calls back after each sleep; on a prompt clock, before any deadline that passed during the sleep.
 * Returns a function that ends the watch.
 */
export function watchSleep(clock: Clock, onWoke: () => void): () => void {
  let monotonicAt = 0;
  let wallAt = 0;
  let timer: unknown;
  const wait = (): void => {
    monotonicAt = clock.now();
    wallAt = clock.wallNow();
    timer = clock.setTimeout(check, periodMs);
    (timer as { unref?: () => void }).unref?.();
  };
  const check = (): void => {
    const elapsedMs = Math.max(clock.now() - monotonicAt, clock.wallNow() - wallAt);
    wait();
    if (elapsedMs - periodMs > leastSleepMs) onWoke();
  };
  wait();
  return () => clock.clearTimeout(timer);
}
