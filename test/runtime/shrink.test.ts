import { describe, expect, it } from 'vitest';
import { setRealTimeTrap } from './simulation/real-time-trap.ts';
import { shrink } from './simulation/shrink.ts';

describe('shrinking a schedule', () => {
  it('keeps only the necessary steps', async () => {
    const steps = Array.from({ length: 50 }, (_, index) => index);
    const needsThree = async (some: readonly number[]): Promise<boolean> =>
      [7, 8, 41].every((step) => some.includes(step));
    expect(await shrink(steps, needsThree, 1_000)).toEqual([7, 8, 41]);
  });

  it('gives up after a limited number of runs', async () => {
    let runs = 0;
    const steps = Array.from({ length: 50 }, (_, index) => index);
    await shrink(
      steps,
      async () => {
        runs += 1;
        return false;
      },
      10,
    );
    expect(runs).toBe(10);
  });
});

describe('the real-time guard', () => {
  it('detects real time and is removed afterwards', () => {
    const before = Date.now;
    const trap = setRealTimeTrap();
    expect(Date.now()).toBeTypeOf('number');
    expect(new Date(5).getTime()).toBe(5);
    trap.release();
    expect(Date.now).toBe(before);
    // This file is none of those that must not look.
    expect(trap.catches).toEqual([]);
  });
});
