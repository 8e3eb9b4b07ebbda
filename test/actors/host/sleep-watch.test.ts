/** Noticing that the machine slept, with clocks of the test's own. */

import { describe, expect, it } from 'vitest';

import { watchSleep } from '../../../actors/host/sleep-watch.ts';

/** A machine whose timers fire when the test says so, however late. */
function startMachine() {
  let monotonicMs = 1_000;
  let wallMs = 1_700_000_000_000;
  let callback: (() => void) | undefined;
  let woken = 0;
  const timers: { unrefs: number; delayMs: number }[] = [];
  const end = watchSleep(
    {
      now: () => monotonicMs,
      wallNow: () => wallMs,
      setTimeout: (given, delayMs) => {
        callback = given;
        const timer = { unrefs: 0, delayMs };
        timers.push(timer);
        return Object.assign(timer, { unref: () => (timer.unrefs += 1) });
      },
      clearTimeout: () => {
        callback = undefined;
      },
    },
    () => {
      woken += 1;
    },
  );
  return {
    timers,
    end,
    get woken() {
      return woken;
    },
    get isWatching() {
      return callback !== undefined;
    },
    pass(monotonic: number, wall = monotonic) {
      monotonicMs += monotonic;
      wallMs += wall;
      callback?.();
    },
  };
}

describe('the sleep watch', () => {
  it('reports nothing while its timer fires on time or a little late', () => {
    const machine = startMachine();
    for (const ms of [5_000, 5_001, 9_000, 15_000]) machine.pass(ms);
    expect(machine.woken).toBe(0);
  });

  it('detects a sleep during which the monotonic clock stopped', () => {
    const machine = startMachine();
    machine.pass(5_000, 3_600_000);
    expect(machine.woken).toBe(1);
    machine.pass(5_000);
    expect(machine.woken).toBe(1);
  });

  it('detects a process suspension just past the limit', () => {
    const machine = startMachine();
    machine.pass(15_001);
    expect(machine.woken).toBe(1);
  });

  it('ignores a wall clock that is set backwards', () => {
    const machine = startMachine();
    machine.pass(5_000, -3_600_000);
    machine.pass(5_000);
    expect(machine.woken).toBe(0);
  });

  it('uses one unreferenced timer while it runs and none afterwards', () => {
    const machine = startMachine();
    machine.pass(5_000);
    expect(machine.timers.map(({ unrefs }) => unrefs)).toEqual([1, 1]);
    machine.end();
    expect(machine.isWatching).toBe(false);
  });
});
