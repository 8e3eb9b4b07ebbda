/** The meter of the cores, with a machine and a clock of the test's own. */

import { cpus } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createActor, setup } from 'xstate';

import { createCoreMeter, type IdleTime } from '../../actors/core-meter.ts';
import type { CoreReading, MeterFact } from '../../machines/slots.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';

function startMeter(read?: () => IdleTime) {
  const clock = new VirtualClock();
  const readings: CoreReading[] = [];
  const machine = setup({
    types: { events: {} as MeterFact },
    actors: { meter: createCoreMeter({ clock, ...(read === undefined ? {} : { read }) }) },
    actions: {
      keep: ({ event: { coreCount, busyCores } }) => {
        readings.push({ coreCount, busyCores });
      },
    },
  }).createMachine({
    invoke: { src: 'meter', input: {} },
    on: { 'machine.measured': { actions: 'keep' } },
  });
  const actor = createActor(machine).start();
  return { clock, readings, stop: () => actor.stop() };
}

describe('core meter', () => {
  it('tells how many cores were busy since the time before', () => {
    const machine = { coreCount: 4, idleMs: 1_000 };
    const { clock, readings } = startMeter(() => ({ ...machine }));
    machine.idleMs += 80;
    clock.runNext();
    machine.idleMs += 20;
    clock.runNext();
    clock.runNext();
    expect(readings).toEqual([
      { coreCount: 4, busyCores: 0 },
      { coreCount: 4, busyCores: 3 },
      { coreCount: 4, busyCores: 4 },
    ]);
  });

  it('never speaks of more idle cores than there are', () => {
    const machine = { coreCount: 2, idleMs: 0 };
    const { clock, readings } = startMeter(() => ({ ...machine }));
    machine.idleMs += 60;
    clock.runNext();
    machine.idleMs -= 10;
    clock.runNext();
    expect(readings).toEqual([
      { coreCount: 2, busyCores: 0 },
      { coreCount: 2, busyCores: 2 },
    ]);
  });

  it('says nothing of a machine that does not tell, or just got another core', () => {
    const machine = { coreCount: 0, idleMs: 0 };
    const { clock, readings } = startMeter(() => ({ ...machine }));
    clock.runNext();
    machine.coreCount = 2;
    clock.runNext();
    expect(readings).toEqual([]);
    clock.runNext();
    expect(readings).toHaveLength(1);
  });

  it('leaves no timer behind when it is stopped', () => {
    const { clock, readings, stop } = startMeter(() => ({ coreCount: 1, idleMs: 0 }));
    clock.runNext();
    stop();
    expect(clock.runNext()).toBe(false);
    expect(readings).toHaveLength(1);
  });

  it('reads this very machine, within its bounds', () => {
    const { clock, readings } = startMeter();
    clock.runNext();
    const coreCount = cpus().length;
    expect(readings.map((reading) => reading.coreCount)).toEqual(
      coreCount === 0 ? [] : [coreCount],
    );
    for (const { busyCores } of readings) {
      expect(busyCores).toBeGreaterThanOrEqual(0);
      expect(busyCores).toBeLessThanOrEqual(coreCount);
    }
  });
});
