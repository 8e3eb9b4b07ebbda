import { describe, expect, it } from 'vitest';
import { restartDelay } from '../../../src/policies/backoff.ts';
import { defaultPolicy } from '../../../src/policies/presets/default-policy.ts';

const almostOne = 1 - 2 ** -53;

describe('the default policy', () => {
  it('allows an orderly close more time than its steps take', () => {
    const stepsMs = defaultPolicy.close.steps.reduce((total, { waitMs }) => total + waitMs, 0);
    expect(defaultPolicy.close.totalMs).toBeGreaterThan(stepsMs);
  });

  it('finishes its attempts within 7.5 s of a failed start or 15.5 s of a loss', () => {
    const waits = [1, 2, 3, 4, 5].map((wait) =>
      restartDelay(defaultPolicy.restart, wait, almostOne),
    );
    const within = (count: number): number =>
      waits.slice(0, count).reduce((total, waitMs) => total + waitMs, 0);
    expect(within(Number(defaultPolicy.startup.maxAttempts) - 1)).toBe(7_500);
    expect(within(Number(defaultPolicy.restart.maxAttempts))).toBe(15_500);
  });

  it('waits at least 100 ms', () => {
    expect(restartDelay(defaultPolicy.restart, 1, 0)).toBe(100);
  });

  it('requires no server and stops no idle server', () => {
    expect(defaultPolicy.startup.required).toBe(false);
    expect(defaultPolicy.idle.stopMs).toBeNull();
  });
});
