import { describe, expect, it, vi } from 'vitest';
import { stopOrderly } from '../../../src/cli/run/stop.ts';
import type { Troupe } from '../../../src/runtime/troupe.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';

describe('stopping a hung troupe', () => {
  it.each([
    [0, 4_500],
    [2_000, 2_500],
    [4_499, 1],
  ])('takes at most five seconds when %d ms have passed', async (spentMs, untilKillMs) => {
    const clock = new VirtualClock();
    const send = vi.fn<Troupe['send']>();
    const stubborn = { send, stop: () => new Promise<void>(() => {}) };
    const isOver = vi.fn<() => void>();
    const request = { insisted: new AbortController().signal };
    void stopOrderly(stubborn, request, { spentMs, clock }).then(isOver);
    await clock.advanceAndSettle(untilKillMs - 1);
    expect(send).not.toHaveBeenCalled();
    await clock.advanceAndSettle(1);
    expect(send).toHaveBeenCalledExactlyOnceWith({ type: 'troupe.kill' });
    expect(isOver).not.toHaveBeenCalled();
    await clock.advanceAndSettle(500);
    expect(isOver).toHaveBeenCalledOnce();
  });
});
