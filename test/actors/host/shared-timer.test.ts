import { describe, expect, it } from 'vitest';
import { SharedTimer } from '../../../actors/host/shared-timer.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';

function setUp() {
  const clock = new VirtualClock();
  let setCount = 0;
  const counted = {
    now: () => clock.now(),
    wallNow: () => clock.wallNow(),
    setTimeout: (callback: () => void, delayMs: number) => {
      setCount += 1;
      return clock.setTimeout(callback, delayMs);
    },
    clearTimeout: (handle: unknown) => clock.clearTimeout(handle),
  };
  const timer = new SharedTimer(counted);
  const due: string[] = [];
  const after = (name: string, delayMs: number): unknown =>
    timer.setTimeout(() => due.push(name), delayMs);
  return { clock, timer, due, after, setCount: () => setCount };
}

describe('timers that share one', () => {
  it('fire when each is due', () => {
    const { clock, due, after } = setUp();
    after('late', 300);
    after('early', 100);
    clock.advanceBy(99);
    expect(due).toEqual([]);
    clock.advanceBy(1);
    expect(due).toEqual(['early']);
    clock.advanceBy(200);
    expect(due).toEqual(['early', 'late']);
  });

  it('do not fire once cleared, also by one that fires at the same time', () => {
    const { clock, timer, due, after } = setUp();
    timer.setTimeout(() => timer.clearTimeout(last), 100);
    const last = after('last', 100);
    timer.clearTimeout(after('cleared', 50));
    clock.advanceBy(1_000);
    expect(due).toEqual([]);
  });

  it('set the clock once for any number that are cleared in time', () => {
    const { clock, timer, setCount, after } = setUp();
    for (let count = 0; count < 10; count += 1) {
      timer.clearTimeout(after('never', 1_000));
      clock.advanceBy(1);
    }
    expect(setCount()).toBe(1);
    clock.advanceBy(10_000);
    expect(setCount()).toBe(1);
  });

  it('go on after one of them sets another', () => {
    const { clock, timer, due, after } = setUp();
    timer.setTimeout(() => after('second', 10), 10);
    after('third', 100);
    clock.advanceBy(100);
    expect(due).toEqual(['second', 'third']);
  });

  it('are all cleared by a stop', () => {
    const { clock, timer, due, after } = setUp();
    after('never', 10);
    timer.stop();
    clock.advanceBy(10);
    expect(due).toEqual([]);
  });
});
