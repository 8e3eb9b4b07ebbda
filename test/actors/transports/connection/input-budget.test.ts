import { afterEach, describe, expect, it } from 'vitest';

import { InputBudget } from '../../../../actors/transports/connection/input-budget.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import { turn } from '../../../support/turn.ts';
import { type Bench, callOptions, createBench, fixtureSpec } from '../../session/bench.ts';

let bench: Bench | undefined;
afterEach(() => bench?.stop());

/** A budget, and its reports. */
function createBudget() {
  const clock = new VirtualClock();
  const told: string[] = [];
  const tell = (what: string): unknown => told.push(`${what} at ${clock.now()}`);
  const budget = new InputBudget(clock, {
    flooded: () => tell('flooded'),
    calmed: (hasMissed) => tell(hasMissed ? 'calmed with gaps' : 'calmed'),
    paused: () => tell('paused'),
    resumed: () => tell('resumed'),
  });
  /** How many of so many notifications pass. */
  const pass = (count: number): number =>
    Array.from({ length: count }, () => budget.admitsNotification()).filter(Boolean).length;
  return { clock, budget, told, pass };
}

describe("a connection's input budget", () => {
  it('admits 200 notifications a second without reporting anything', () => {
    const { clock, told, pass } = createBudget();
    for (let second = 0; second < 5; second += 1) {
      expect(pass(200)).toBe(200);
      clock.advanceBy(1_000);
    }
    expect(told).toEqual([]);
    expect(clock.pendingCount).toBe(0);
  });

  it('drops the excess and reports one flood until a second passes without a drop', () => {
    const { clock, told, pass } = createBudget();
    expect(pass(10_000)).toBe(200);
    clock.advanceBy(600);
    expect(pass(121)).toBe(120);
    clock.advanceBy(999);
    expect(told).toEqual(['flooded at 0']);
    clock.advanceBy(1);
    expect(told).toEqual(['flooded at 0', 'calmed with gaps at 1600']);
  });

  it('stays flooded for longer when the server floods repeatedly', () => {
    const { clock, told, pass } = createBudget();
    for (let flood = 0; flood < 9; flood += 1) {
      pass(201);
      while (told.length < flood * 2 + 2) clock.advanceBy(1_000);
    }
    const ends = told
      .filter((line) => line.startsWith('calmed'))
      .map((line) => line.split(' at ')[1]);
    const lasted = ends.map((end, index) => Number(end) - Number(ends[index - 1] ?? 0));
    expect(lasted).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1_000));
  });

  it('refuses requests beyond 200 a second without reporting missed notifications', () => {
    const { clock, budget, told } = createBudget();
    const admitted = Array.from({ length: 500 }, () => budget.admitsRequest()).filter(Boolean);
    expect(admitted).toHaveLength(200);
    clock.advanceBy(1_000);
    expect(told).toEqual(['flooded at 0', 'calmed at 1000']);
  });

  it('yields to the event loop after 256 units of work, without reporting it', async () => {
    const { budget, told } = createBudget();
    budget.charge(255);
    expect(budget.free()).toBeUndefined();
    budget.charge(1);
    expect(budget.isSpent).toBe(true);
    await budget.free();
    expect([budget.isSpent, told]).toEqual([false, []]);
  });

  it('pauses until the budget covers the excess work and reports each pause', async () => {
    const { clock, budget, told } = createBudget();
    const story: string[] = [];
    const read = (): void => {
      if (clock.now() >= 3_000) return;
      budget.charge(45_000 - (clock.now() > 0 ? 40_000 : 0));
      story.push(`read at ${clock.now()}`);
      budget.whenFree(read);
    };
    read();
    clock.advanceBy(10_000);
    await turn();
    expect(story).toEqual([0, 500, 1_000, 1_500, 2_000, 2_500].map((ms) => `read at ${ms}`));
    expect(told).toEqual([
      'flooded at 0',
      'paused at 0',
      'paused at 1000',
      'paused at 1500',
      'paused at 2000',
      'paused at 2500',
      'paused at 3000',
      'paused at 3500',
      'calmed at 4000',
      'resumed at 4000',
    ]);
  });

  it('stops pausing once the server has exited but still yields to the event loop', async () => {
    const { clock, budget } = createBudget();
    budget.charge(100_000);
    const free = budget.free();
    budget.drain();
    await free;
    expect(budget.isSpent).toBe(false);
    budget.charge(256);
    expect(budget.isSpent).toBe(true);
    await budget.free();
    budget.stop();
    expect(clock.pendingCount).toBe(0);
  });

  it('ends its flood and resumes readers when the connection ends', async () => {
    const { clock, budget, told, pass } = createBudget();
    pass(201);
    budget.charge(100_000);
    const free = budget.free();
    budget.stop();
    await free;
    expect(told).toEqual(['flooded at 0', 'paused at 0', 'calmed with gaps at 0', 'resumed at 0']);
    expect(clock.pendingCount).toBe(0);
    pass(201);
    expect(told).toHaveLength(4);
  });
});

describe('a session whose server floods it', () => {
  it('is impaired, still completes calls and lists its tools once more afterwards', async () => {
    const clock = new VirtualClock();
    bench = createBench(fixtureSpec('flood'))({ clock });
    bench.send('session.open');
    await bench.next('session.opened');
    for (const _call of [1, 2]) {
      const called = await bench.handle().callTool('echo', {}, callOptions());
      expect(called).toHaveProperty('result');
      await clock.advanceAndSettle(500);
    }
    expect(bench.facts.filter(({ type }) => type === 'session.impaired')).toMatchObject([
      {
        reason: 'flooding',
        failure: { kind: 'protocol', message: expect.stringContaining('more than 200') },
      },
    ]);
    const countOf = (type: string): number =>
      bench?.facts.filter((fact) => fact.type === type).length ?? 0;
    // Reported once until the list is fetched.
    expect([countOf('session.notified'), countOf('session.recovered')]).toEqual([1, 0]);
    await clock.advanceAndSettle(500);
    expect(await bench.next('session.recovered')).toMatchObject({ reason: 'flooding' });
    expect(countOf('session.notified')).toBe(1);
  });
});
