import { describe, expect, it } from 'vitest';
import { serverMachine } from '../../machines/server/server.ts';
import { slotsMachine } from '../../machines/slots.ts';
import { troupeMachine } from '../../machines/troupe/troupe.ts';
import { lintChart } from '../../src/testing/lint-chart.ts';

const charts = { serverMachine, slotsMachine, troupeMachine };
// Names only: a test runner that prints a chart as a parameter runs out of memory.
const names = Object.keys(charts) as (keyof typeof charts)[];

describe('charts', () => {
  it.each(names)('are written as XState takes them: %s', (name) => {
    expect(lintChart(charts[name], { needsMaxIterations: true })).toEqual([]);
  });
});
