import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stopOrderly } from '../../src/cli/orderly-stop.ts';
import type { Troupe } from '../../src/runtime/troupe.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A troupe that never gets to its end. */
function stubborn() {
  const send = vi.fn<Troupe['send']>();
  const troupe = { send, stop: () => new Promise<void>(() => {}) } as unknown as Troupe;
  return { troupe, send };
}

const request = { received: () => undefined, onInsist: () => undefined, dispose: () => undefined };

describe('the end of a troupe that does not end', () => {
  it.each([
    [0, 4_500],
    [2_000, 2_500],
    [4_500, 0],
    [9_000, 0],
  ])('comes within five seconds, of which %d ms are over', async (spentMs, untilKillMs) => {
    const { troupe, send } = stubborn();
    const isOver = vi.fn<() => void>();
    void stopOrderly(troupe, request as never, false, spentMs).then(isOver);
    await vi.advanceTimersByTimeAsync(Math.max(0, untilKillMs - 1));
    expect(send).toHaveBeenCalledTimes(untilKillMs === 0 ? 1 : 0);
    await vi.advanceTimersByTimeAsync(1);
    expect(send).toHaveBeenCalledExactlyOnceWith({ type: 'troupe.kill' });
    await vi.advanceTimersByTimeAsync(500);
    expect(isOver).toHaveBeenCalledOnce();
  });
});
