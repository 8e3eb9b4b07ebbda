import { describe, expect, it } from 'vitest';
import { permissionMachine } from '../../machines/permission.ts';
import { permitMachine } from '../../machines/permit.ts';
import { questionMachine } from '../../machines/question.ts';
import { serverMachine } from '../../machines/server/server.ts';
import { slotsMachine } from '../../machines/slots.ts';
import { troupeMachine } from '../../machines/troupe/troupe.ts';
import { pathOf, statesOf } from '../../src/testing/chart-parts.ts';
import { lintChart } from '../../src/testing/lint-chart.ts';

const charts = {
  serverMachine,
  slotsMachine,
  permitMachine,
  troupeMachine,
  permissionMachine,
  questionMachine,
};
// Names only: a test runner that prints a chart as a parameter runs out of memory.
const names = Object.keys(charts) as (keyof typeof charts)[];

describe('charts', () => {
  it.each(names)('are written as XState takes them: %s', (name) => {
    expect(lintChart(charts[name], { needsMaxIterations: true })).toEqual([]);
  });

  // A longer list of rows is no longer read in order, and its picture becomes a hub.
  it.each(names)('decide by tables of at most eight rows: %s', (name) => {
    const long = statesOf(charts[name]).filter(({ always = [] }) => always.length > 8);
    expect(long.map(pathOf)).toEqual([]);
  });
});
