/**
 * The whole runtime under random schedules, with invariants checked after every step.
 */

import { describe, expect, it } from 'vitest';
import { setRealTimeTrap } from './simulation/real-time-trap.ts';
import { play, playAndShrink, playFlapping, scheduleOf } from './simulation/simulate.ts';

const serverCount = 6;

describe('a simulated troupe', () => {
  it.each([
    { first: 1, count: 60, stepCount: 40 },
    { first: 1_001, count: 30, stepCount: 80 },
    { first: 2_001, count: 60, stepCount: 25 },
  ])(
    'keeps every invariant in $count schedules of $stepCount steps, starting at seed $first',
    async ({ first, count, stepCount }) => {
      for (let seed = first; seed < first + count; seed += 1) {
        const { problems, shortest } = await playAndShrink(
          scheduleOf(seed, stepCount, serverCount),
          60,
        );
        const steps = shortest.map((step) => `  ${JSON.stringify(step)}`).join('\n');
        expect(problems, `by these steps, from seed ${seed}:\n${steps}`).toEqual([]);
      }
    },
    60_000,
  );

  it('replays identically for the same seed', async () => {
    for (const seed of [7, 77, 777]) {
      const schedule = scheduleOf(seed, 60, serverCount);
      const [once, again] = [await play(schedule), await play(schedule)];
      expect(again.digest).toBe(once.digest);
      expect(once.digest).not.toBe((await play(scheduleOf(seed + 1, 60, serverCount))).digest);
    }
  });

  it('never reads the system clock or random source', async () => {
    const trap = setRealTimeTrap();
    try {
      for (const seed of [11, 12, 13]) await play(scheduleOf(seed, 60, serverCount));
      expect(trap.catches).toEqual([]);
    } finally {
      trap.release();
    }
  });

  it('survives hours of repeated server crashes', async () => {
    const { problems, losses, calls } = await playFlapping(1, 20, 2);
    expect(problems).toEqual([]);
    expect(losses).toBeGreaterThan(500);
    expect(calls).toBe(2_400);
  });
});
