import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assign, createActor, setup } from 'xstate';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';

const fail = (): never => {
  throw new Error('broken timer');
};

describe('a virtual clock', () => {
  it('fires by deadline, and equal deadlines in the order they were set', () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    clock.setTimeout(() => fired.push('late'), 20);
    clock.setTimeout(() => fired.push('first'), 10);
    clock.setTimeout(() => fired.push('second'), 10);
    clock.advanceBy(20);
    expect(fired).toEqual(['first', 'second', 'late']);
  });

  it('fires a timer set by a callback in the same advance, counted from the callback', () => {
    const clock = new VirtualClock();
    const moments: number[] = [];
    clock.setTimeout(() => {
      moments.push(clock.now());
      clock.setTimeout(() => moments.push(clock.now()), 1_000);
    }, 1_000);
    clock.advanceBy(2_500);
    expect(moments).toEqual([1_000, 2_000]);
    expect(clock.now()).toBe(2_500);
  });

  it('does not fire a timer that an earlier one cleared', () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    clock.setTimeout(() => clock.clearTimeout(doomed), 5);
    const doomed = clock.setTimeout(() => fired.push('doomed'), 5);
    clock.advanceBy(10);
    expect(fired).toEqual([]);
    expect(clock.pendingCount).toBe(0);
  });

  it('keeps delays that real timers cannot hold', () => {
    const clock = new VirtualClock();
    let fired = false;
    clock.setTimeout(() => (fired = true), 2 ** 31);
    clock.advanceTo(2 ** 31 - 1);
    expect(fired).toBe(false);
    clock.advanceBy(1);
    expect(fired).toBe(true);
  });

  it('treats a negative delay as zero', () => {
    const clock = new VirtualClock();
    clock.setTimeout(() => {}, -5);
    expect(clock.nextDeadlineMs).toBe(0);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('rejects a delay of %s', (delayMs) => {
    expect(() => new VirtualClock().setTimeout(() => {}, delayMs)).toThrow(RangeError);
  });

  it("runs the other timers before it rethrows a timer's error", () => {
    const clock = new VirtualClock();
    let fired = false;
    clock.setTimeout(fail, 1);
    clock.setTimeout(() => (fired = true), 2);
    expect(() => clock.advanceBy(3)).toThrow('broken timer');
    expect(fired).toBe(true);
    expect(clock.now()).toBe(3);
  });

  it('rethrows several errors as one', () => {
    const clock = new VirtualClock();
    clock.setTimeout(fail, 1);
    clock.setTimeout(fail, 2);
    expect(() => clock.advanceBy(3)).toThrow(AggregateError);
  });

  it('refuses to go backwards or to be advanced by a timer', () => {
    const clock = new VirtualClock({ nowMs: 10 });
    expect(() => clock.advanceTo(9)).toThrow(RangeError);
    clock.setTimeout(() => clock.advanceBy(1), 1);
    expect(() => clock.advanceBy(5)).toThrow('already advancing');
    expect(clock.now()).toBe(15);
  });

  it('stops at a timer that reschedules itself without delay', () => {
    const clock = new VirtualClock();
    const again = () => void clock.setTimeout(again, 0);
    again();
    expect(() => clock.advanceBy(1)).toThrow('sets itself again');
  });

  it('fires one timer at a time with runNext', () => {
    const clock = new VirtualClock();
    const fired: number[] = [];
    clock.setTimeout(() => fired.push(1), 30);
    clock.setTimeout(() => fired.push(2), 40);
    expect(clock.runNext()).toBe(true);
    expect([clock.now(), ...fired]).toEqual([30, 1]);
    expect(clock.runNext()).toBe(true);
    expect(clock.runNext()).toBe(false);
  });

  it('advances wall time too', () => {
    const clock = new VirtualClock({ nowMs: 500, wallMs: 1_000 });
    clock.advanceBy(7);
    expect(clock.wallNow()).toBe(1_007);
  });

  it('fires timers set by awaiting code within the same advance', async () => {
    const clock = new VirtualClock();
    const moments: number[] = [];
    const wait = (ms: number) => new Promise<void>((resolve) => void clock.setTimeout(resolve, ms));
    void (async () => {
      for (let turn = 0; turn < 3; turn += 1) {
        await wait(10);
        moments.push(clock.now());
      }
    })();
    await clock.advanceAndSettle(30);
    expect(moments).toEqual([10, 20, 30]);
  });

  it("drives a chart's delayed transitions, including cascades", () => {
    const machine = setup({
      types: { context: {} as { turns: number } },
      actions: { countTurn: assign({ turns: ({ context }) => context.turns + 1 }) },
      delays: { pause: 1_000 },
    }).createMachine({
      context: { turns: 0 },
      initial: 'left',
      states: {
        left: { after: { pause: { target: 'right', actions: 'countTurn' } } },
        right: { after: { pause: { target: 'left', actions: 'countTurn' } } },
      },
    });
    const clock = new VirtualClock();
    const actor = createActor(machine, { clock }).start();
    clock.advanceBy(5_000);
    expect(actor.getSnapshot().context.turns).toBe(5);
    actor.stop();
    expect(clock.pendingCount).toBe(0);
  });
});

/** Does what the clock does, by sorting an array before every look. */
class NaiveClock {
  nowMs = 0;
  #sequence = 0;
  #timers: { at: number; id: number; callback: () => void }[] = [];

  get pendingCount(): number {
    return this.#timers.length;
  }

  setTimeout(callback: () => void, delayMs: number): number {
    this.#sequence += 1;
    this.#timers.push({ at: this.nowMs + Math.max(0, delayMs), id: this.#sequence, callback });
    return this.#sequence;
  }

  clearTimeout(handle: unknown): void {
    this.#timers = this.#timers.filter(({ id }) => id !== handle);
  }

  advanceBy(ms: number): void {
    const end = this.nowMs + ms;
    for (;;) {
      this.#timers.sort((one, other) => one.at - other.at || one.id - other.id);
      const [first] = this.#timers;
      if (first === undefined || first.at > end) break;
      this.clearTimeout(first.id);
      this.nowMs = first.at;
      first.callback();
    }
    this.nowMs = end;
  }
}

describe('a virtual clock and its naive twin', () => {
  const delay = fc.integer({ min: -2, max: 12 });
  const step = fc.oneof(
    // A chain: each callback sets the next link, as a cascade of delayed transitions does.
    fc.record({
      kind: fc.constant('set' as const),
      chain: fc.array(delay, { minLength: 1, maxLength: 4 }),
    }),
    fc.record({ kind: fc.constant('clear' as const), pick: fc.nat(30) }),
    fc.record({ kind: fc.constant('advance' as const), ms: fc.nat(15) }),
  );
  type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

  function story(
    clock: {
      setTimeout(callback: () => void, ms: number): unknown;
      clearTimeout(handle: unknown): void;
      advanceBy(ms: number): void;
      readonly pendingCount: number;
    },
    now: () => number,
    steps: readonly Step[],
  ): string[] {
    const lines: string[] = [];
    const handles: unknown[] = [];
    const link = (name: string, chain: readonly number[]): void => {
      const [first, ...rest] = chain;
      if (first === undefined) return;
      handles.push(
        clock.setTimeout(() => {
          lines.push(`${name} at ${now()}`);
          link(`${name}'`, rest);
        }, first),
      );
    };
    steps.forEach((one, index) => {
      if (one.kind === 'set') link(`timer ${index}`, one.chain);
      else if (one.kind === 'clear') clock.clearTimeout(handles[one.pick % (handles.length || 1)]);
      else clock.advanceBy(one.ms);
      lines.push(`${clock.pendingCount} pending at ${now()}`);
    });
    return lines;
  }

  it('fire the same timers in the same order for any script', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const clock = new VirtualClock();
        const twin = new NaiveClock();
        expect(story(clock, clock.now, steps)).toEqual(story(twin, () => twin.nowMs, steps));
      }),
      { numRuns: 300 },
    );
  });
});
