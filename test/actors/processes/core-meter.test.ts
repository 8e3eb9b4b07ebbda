/** The meter of the cores, with a machine and a clock of the test's own. */

import { type ChildProcess, spawn } from 'node:child_process';
import { cpus } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createActor, sendTo, setup } from 'xstate';

import { createCoreMeter, type IdleTime } from '../../../actors/processes/core-meter.ts';
import type { ActorProcess } from '../../../actors/processes/keeper.ts';
import type { MeterCommand, MeterFact } from '../../../machines/slots.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';

type Reading = Omit<MeterFact, 'type'>;

function startMeter(read?: () => IdleTime, processes: Readonly<Record<string, ActorProcess>> = {}) {
  const clock = new VirtualClock();
  const readings: Reading[] = [];
  const machine = setup({
    types: { events: {} as MeterFact | MeterCommand },
    actors: {
      meter: createCoreMeter({
        clock,
        ...(read === undefined ? {} : { read }),
        processOf: (actorId) => processes[actorId],
      }),
    },
    actions: {
      keep: ({ event }) => {
        if (event.type !== 'machine.measured') return;
        const { type: _type, ...reading } = event;
        readings.push(reading);
      },
      pass: sendTo('meter', ({ event }) => event as MeterCommand),
    },
  }).createMachine({
    invoke: { id: 'meter', src: 'meter', input: { actorIds: Object.keys(processes) } },
    on: {
      'machine.measured': { actions: 'keep' },
      'meter.watch': { actions: 'pass' },
      'io.dispose': { actions: 'pass' },
    },
  });
  const actor = createActor(machine).start();
  return {
    clock,
    readings,
    tell: (command: MeterCommand) => actor.send(command),
    stop: () => actor.stop(),
  };
}

/** In a group of its own, which is killed with it; its input stays open and silent. */
function spawnShell(script: string): ChildProcess {
  return spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
}

const nobody = { working: [], waiting: [] };
const idle = (): IdleTime => ({ coreCount: 2, idleMs: 0 });

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
      { coreCount: 4, busyCores: 0, ...nobody },
      { coreCount: 4, busyCores: 3, ...nobody },
      { coreCount: 4, busyCores: 4, ...nobody },
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
      { coreCount: 2, busyCores: 0, ...nobody },
      { coreCount: 2, busyCores: 2, ...nobody },
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

  it('ends when the chart that it measures for broke', () => {
    const { clock, tell } = startMeter(idle);
    tell({ type: 'io.dispose' });
    expect(clock.runNext()).toBe(false);
  });

  it.runIf(process.platform === 'linux')('tells who works and who waits', async () => {
    const busy = spawnShell('while :; do :; done');
    // The shell waits for what it started: together they work.
    const runner = spawnShell('sh -c "while :; do :; done"; true');
    const asleep = spawnShell('read -r line');
    const waiting = spawnShell('sh -c "read -r line"; true');
    const all = { 'busy.0': busy, 'runner.0': runner, 'asleep.0': asleep, 'waiting.1': waiting };
    const processes: Record<string, ActorProcess> = Object.fromEntries(
      Object.entries(all).map(([name, { pid = 0 }]) => [name, { pid, isAsked: true }]),
    );
    processes['gone.0'] = { pid: 2 ** 22 + 1, isAsked: true };
    const { clock, readings, tell } = startMeter(idle, processes);
    try {
      // No event tells when a process has come to rest; from then on it is told for ever.
      while (readings.at(-1)?.waiting.length !== 2 || readings.at(-1)?.working.length !== 2) {
        clock.runNext();
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(readings.at(-1)).toMatchObject({
        working: ['busy.0', 'runner.0'],
        waiting: ['asleep.0', 'waiting.1'],
      });
      tell({ type: 'meter.watch', actorIds: ['busy.0', 'unknown.0'] });
      clock.runNext();
      expect(readings.at(-1)).toMatchObject({ working: ['busy.0'], waiting: [] });
      tell({ type: 'meter.watch', actorIds: ['asleep.0'] });
      processes['asleep.0'] = { pid: asleep.pid ?? 0, isAsked: false };
      clock.runNext();
      clock.runNext();
      // It waits for us.
      expect(readings.at(-1)).toMatchObject({ working: ['asleep.0'], waiting: [] });
    } finally {
      for (const { pid } of Object.values(all))
        if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    }
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
