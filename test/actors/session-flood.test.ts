import { afterEach, describe, expect, it } from 'vitest';

import { createFloodGate } from '../../actors/session-flood.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { type Bench, callOptions, createBench, fixtureSpec } from './session-bench.ts';

let bench: Bench | undefined;
afterEach(() => bench?.stop());

const jsonrpc = '2.0';
const news = { jsonrpc, method: 'notifications/tools/list_changed' } as const;

/** A gate, and what it told and let through. */
function createGate() {
  const clock = new VirtualClock();
  const told: string[] = [];
  const gate = createFloodGate({
    clock,
    onFlood: () => told.push(`flood at ${clock.now()}`),
    onCalm: () => told.push(`calm at ${clock.now()}`),
  });
  /** How many of so many notifications pass. */
  const pass = (count: number): number =>
    Array.from({ length: count }, () => gate.admits(news)).filter(Boolean).length;
  return { clock, gate, told, pass };
}

describe('the gate against floods', () => {
  it('lets 200 notifications a second through, and says nothing of it', () => {
    const { clock, told, pass } = createGate();
    for (let second = 0; second < 5; second += 1) {
      expect(pass(200)).toBe(200);
      clock.advanceBy(1_000);
    }
    expect(told).toEqual([]);
    expect(clock.pendingCount).toBe(0);
  });

  it('drops the rest of a second, and tells once of a flood until it is over', () => {
    const { clock, told, pass } = createGate();
    expect(pass(10_000)).toBe(200);
    clock.advanceBy(600);
    expect(pass(1)).toBe(0);
    clock.advanceBy(400);
    // The next second has its own 200.
    expect(pass(200)).toBe(200);
    clock.advanceBy(599);
    expect(told).toEqual(['flood at 0']);
    clock.advanceBy(1);
    expect(told).toEqual(['flood at 0', 'calm at 1600']);
    clock.advanceBy(1_000);
    expect(pass(201)).toBe(200);
    expect(told.at(-1)).toBe('flood at 2600');
  });

  it('never keeps an answer or a request', () => {
    const { gate, pass } = createGate();
    pass(201);
    expect(gate.admits({ jsonrpc, id: 1, result: {} })).toBe(true);
    expect(gate.admits({ jsonrpc, id: 1, error: { code: 1, message: 'no' } })).toBe(true);
    expect(gate.admits({ jsonrpc, id: 1, method: 'ping' })).toBe(true);
  });

  it('says nothing more when its session has ended', () => {
    const { clock, gate, told, pass } = createGate();
    pass(201);
    gate.stop();
    expect(clock.pendingCount).toBe(0);
    pass(201);
    expect(told).toEqual(['flood at 0']);
  });
});

describe('a session with a server that floods it', () => {
  it('is impaired, answers, and looks once at what it may have missed', async () => {
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
    // One at once, and one for all that followed within a second.
    expect([countOf('session.notified'), countOf('session.recovered')]).toEqual([2, 0]);
    await clock.advanceAndSettle(500);
    expect(await bench.next('session.recovered')).toMatchObject({ reason: 'flooding' });
    await clock.advanceAndSettle(500);
    // And one for what was dropped.
    expect(countOf('session.notified')).toBe(3);
  });
});
