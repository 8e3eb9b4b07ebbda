import { describe, expect, it, onTestFinished } from 'vitest';
import { startWakeUpsLate } from '../../../actors/settings/late-wake-ups.ts';
import type { SettingsReading } from '../../../actors/settings/reader.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';

const nothing = { settings: {}, specs: new Map() } as unknown as SettingsReading;

function start({ againInMs }: { readonly againInMs?: number } = {}) {
  const clock = new VirtualClock();
  const takes: number[] = [];
  const waiting = new Map<number, () => void>();
  let readCount = 0;
  const wakeUps = startWakeUpsLate({
    clock,
    read: async () => {
      readCount += 1;
      return readCount === 1 && againInMs !== undefined ? { ...nothing, againInMs } : nothing;
    },
    take: () => {
      takes.push(clock.now());
      waiting.get(takes.length)?.();
    },
  });
  onTestFinished(() => wakeUps.stop());
  return {
    clock,
    wakeUps,
    takes,
    /** Settles when so many readings were taken. */
    taken: (count: number) =>
      takes.length >= count
        ? Promise.resolve()
        : new Promise<void>((resolve) => waiting.set(count, resolve)),
    /** Settles when RxJS has been loaded and its timers are set. */
    timerSet: async () => {
      while (!clock.runNext()) await import('../../../actors/settings/wake-ups.ts');
    },
  };
}

describe('late wake-ups', () => {
  it('read at the first command, and set nothing up', async () => {
    const { clock, wakeUps, taken } = start();
    wakeUps.command();
    await taken(1);
    expect(clock.runNext()).toBe(false);
  });

  it('read again for a command that came during the first reading', async () => {
    const { wakeUps, taken, takes } = start();
    wakeUps.command();
    wakeUps.command();
    await taken(2);
    wakeUps.command();
    await taken(3);
    expect(takes).toEqual([0, 0, 0]);
  });

  it('answer an early touch when the start is over, and later ones when it has been calm', async () => {
    const { clock, wakeUps, taken, timerSet, takes } = start();
    wakeUps.command();
    await taken(1);
    wakeUps.touch();
    wakeUps.touch();
    clock.advanceBy(999);
    expect(takes).toEqual([0]);
    clock.advanceBy(1);
    await timerSet();
    await taken(2);
    wakeUps.touch();
    clock.advanceBy(300);
    await taken(3);
    expect(takes).toEqual([0, 1_300, 1_600]);
  });

  it('read again when the first reading asks for it', async () => {
    const { wakeUps, taken, timerSet, takes } = start({ againInMs: 5_000 });
    wakeUps.command();
    await taken(1);
    await timerSet();
    await taken(2);
    wakeUps.later(100);
    await timerSet();
    await taken(3);
    expect(takes).toEqual([0, 5_000, 5_100]);
  });

  it('leave no timer behind and take nothing more once stopped', async () => {
    const { clock, wakeUps, takes } = start();
    wakeUps.command();
    wakeUps.touch();
    wakeUps.stop();
    wakeUps.touch();
    await clock.advanceAndSettle(10_000);
    expect(takes).toEqual([]);
    expect(clock.runNext()).toBe(false);
  });
});
