import { describe, expect, it } from 'vitest';
import { serverMachine } from '../../machines/server.ts';
import { slotsMachine } from '../../machines/slots.ts';
import { troupeMachine } from '../../machines/troupe.ts';
import { lintChart } from '../../src/testing/lint-chart.ts';

const charts = { serverMachine, slotsMachine, troupeMachine };
// Names only: a test runner that prints a chart as a parameter runs out of memory.
const names = Object.keys(charts) as (keyof typeof charts)[];

const accepted: Partial<Record<keyof typeof charts, readonly string[]>> = {
  // It hands out permits until the root that owns it is gone.
  slotsMachine: ['serving: no transition leads out of it, and it is not final'],
};

describe('charts', () => {
  it.each(names)('are written as XState takes them: %s', (name) => {
    const options = { needsMaxIterations: true, accepted: accepted[name] ?? [] };
    expect(lintChart(charts[name], options)).toEqual([]);
  });
});
