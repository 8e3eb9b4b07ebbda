import { describe, expect, it } from 'vitest';
import { attachmentMachine } from '../../machines/attachment.ts';
import { authorizationMachine } from '../../machines/authorization/authorization.ts';
import { leaseMachine } from '../../machines/lease.ts';
import { permissionMachine } from '../../machines/permission.ts';
import { questionMachine } from '../../machines/question.ts';
import { recordFileMachine } from '../../machines/record-file.ts';
import { retentionMachine } from '../../machines/retention.ts';
import { serverMachine } from '../../machines/server/server.ts';
import { refreshMachine } from '../../machines/session/list-refresh.ts';
import { sessionMachine } from '../../machines/session/session.ts';
import { slotsMachine } from '../../machines/slots.ts';
import { throttleMachine } from '../../machines/throttle.ts';
import { handoverMachine } from '../../machines/troupe/handover.ts';
import { troupeMachine } from '../../machines/troupe/troupe.ts';
import { pathOf, statesOf } from '../../src/testing/chart-parts.ts';
import { lintChart } from '../../src/testing/lint-chart.ts';

const charts = {
  serverMachine,
  sessionMachine,
  refreshMachine,
  slotsMachine,
  troupeMachine,
  handoverMachine,
  authorizationMachine,
  permissionMachine,
  questionMachine,
  attachmentMachine,
  leaseMachine,
  retentionMachine,
  throttleMachine,
  recordFileMachine,
};
// The root ends a handover with the first of its two servers that ends.
const meant: Readonly<Record<string, readonly string[]>> = {
  handoverMachine: ['relieving', 'withdrawing'].map(
    (state) => `${state}: no transition leads out of it, and it is not final`,
  ),
};
// Names only: a test runner that prints a chart as a parameter runs out of memory.
const names = Object.keys(charts) as (keyof typeof charts)[];

describe('charts', () => {
  it.each(names)('are valid for XState: %s', (name) => {
    const accepted = meant[name] ?? [];
    expect(lintChart(charts[name], { needsMaxIterations: true, accepted })).toEqual([]);
  });

  // A longer list of rows is no longer read in order, and its picture becomes a hub.
  it.each(names)('have at most eight branches per decision: %s', (name) => {
    const long = statesOf(charts[name]).filter(({ always = [] }) => always.length > 8);
    expect(long.map(pathOf)).toEqual([]);
  });
});
