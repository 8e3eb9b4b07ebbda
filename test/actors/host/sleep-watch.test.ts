/** Noticing that the machine slept, with clocks of the test's own. */

import { describe, expect, it } from 'vitest';

import { watchSleep } from '../../../actors/host/sleep-watch.ts';

/** A machine whose timers fire when it is told so, however late that is. */
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

describe('the watch for sleep', () => {
  it('says nothing while its timer comes in time, or a little late', () => {
    const machine = startMachine();
    for (const ms of [5_000, 5_001, 9_000, 15_000]) machine.pass(ms);
    expect(machine.woken).toBe(0);
  });

  it('tells of a machine that slept, whose monotonic clock stood still', () => {
    const machine = startMachine();
    machine.pass(5_000, 3_600_000);
    expect(machine.woken).toBe(1);
    machine.pass(5_000);
    expect(machine.woken).toBe(1);
  });

  it('tells of a process that was held, a moment past the limit', () => {
    const machine = startMachine();
    machine.pass(15_001);
    expect(machine.woken).toBe(1);
  });

  it('does not mind a wall clock that is set back', () => {
    const machine = startMachine();
    machine.pass(5_000, -3_600_000);
    machine.pass(5_000);
    expect(machine.woken).toBe(0);
  });

  it('has one timer at a time, which keeps no process alive, and none when it has ended', () => {
    const machine = startMachine();
    machine.pass(5_000);
    expect(machine.timers.map(({ unrefs }) => unrefs)).toEqual([1, 1]);
    machine.end();
    expect(machine.isWatching).toBe(false);
  });
});
