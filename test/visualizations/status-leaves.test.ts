/** What `<troupe-chart>` lights for a status is what the chart has. */

import { describe, expect, it } from 'vitest';
import { serverMachine } from '../../machines/server/server.ts';
import {
  catalogStates,
  circuitStates,
  reasonsOf,
  serverStates,
} from '../../src/domain/server-state.ts';
import { stateAt } from '../../src/testing/chart-text.ts';
import { leavesOf, stateIn, statusIn } from '../../visualizations/page/embed/status-leaves.ts';
import { statusOf } from './samples.ts';

describe('the active states of a status', () => {
  it('are leaves of the chart, for every state and reason', () => {
    const conditions = serverStates.flatMap((state) =>
      [undefined, ...reasonsOf[state]]
        .filter((reason) => reason !== undefined || !needsReason(state))
        .map((reason) => ({ state, ...(reason === undefined ? {} : { reason }) })),
    );
    expect(conditions.length).toBeGreaterThan(25);
    const all = [
      ...conditions.flatMap(leavesOf),
      ...catalogStates.flatMap((catalog) => leavesOf({ state: 'ready', catalog })),
      ...circuitStates.flatMap((circuit) => leavesOf({ state: 'ready', circuit })),
    ];
    for (const leaf of new Set(all)) {
      const node = stateAt(serverMachine, leaf);
      // A session's closing has no leaf of its own in a status.
      expect(Object.keys(node.states), leaf).toEqual([]);
    }
  });

  it('are read from a text, a status, or the status of all servers', () => {
    expect(stateIn('backingOff.retrying')).toEqual({ state: 'backingOff', reason: 'retrying' });
    expect(stateIn(' ready ')).toEqual({ state: 'ready' });
    expect(stateIn('')).toBeUndefined();
    const [db, web] = [statusOf('db'), statusOf('web')];
    expect(statusIn(db, 'web')).toBe(db);
    const snapshot = { servers: [db, web] } as unknown as Parameters<typeof statusIn>[0];
    expect(statusIn(snapshot, 'web')).toBe(web);
    expect(statusIn(snapshot, '')).toBe(db);
    expect(statusIn(snapshot, 'gone')).toBeUndefined();
  });
});

/** Only a degraded server stays in a state whose name is the same without its reason. */
function needsReason(state: keyof typeof reasonsOf): boolean {
  return reasonsOf[state].length > 0 && state !== 'degraded';
}
