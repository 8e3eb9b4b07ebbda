import { describe, expect, it } from 'vitest';

import { createThrottle } from '../../src/runtime/throttle.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';

describe('the throttle', () => {
  it('fires immediately, then once per interval, and never loses the last signal', () => {
    const clock = new VirtualClock();
    const fired: number[] = [];
    const throttle = createThrottle(clock, 1_000, () => fired.push(clock.now()));
    throttle.trigger();
    throttle.trigger();
    clock.advanceBy(500);
    throttle.trigger();
    clock.advanceBy(5_000);
    throttle.trigger();
    expect(fired).toEqual([0, 1_000, 5_500]);
  });

  it('stays silent once it is stopped', () => {
    const clock = new VirtualClock();
    const fired: number[] = [];
    const throttle = createThrottle(clock, 1_000, () => fired.push(clock.now()));
    throttle.trigger();
    throttle.trigger();
    throttle.stop();
    throttle.trigger();
    clock.advanceBy(5_000);
    expect(fired).toEqual([0]);
  });
});
