import { describe, expect, it } from 'vitest';
import { serverStates, statesByConcern } from '../../src/domain/server-state.ts';
import {
  fleetLayout,
  neighbour,
  rowsWithin,
  sizes,
} from '../../visualizations/inspector/model/fleet-layout.ts';
import {
  type FleetChoice,
  fleetGroups,
  totals,
} from '../../visualizations/inspector/model/fleet-list.ts';
import { statusOf } from './samples.ts';

const all: FleetChoice = { text: '', states: [], grouped: false, order: 'name' };
const servers = [
  statusOf('web', {
    state: 'failed',
    reason: 'attemptsExhausted',
    restarts: 4,
    since: '2026-01-03T00:00:00.000Z',
  }),
  statusOf('db', { tools: 9, since: '2026-01-02T00:00:00.000Z' }),
  statusOf('api', { circuit: 'open' }),
];

function namesOf(choice: Partial<FleetChoice>): readonly string[] {
  return fleetGroups(servers, { ...all, ...choice }).flatMap((group) =>
    group.servers.map(({ name }) => name),
  );
}

describe('the fleet list', () => {
  it('has a group for every state', () => {
    expect([...statesByConcern].sort()).toEqual([...serverStates].sort());
  });

  it('follows the selected sort order', () => {
    expect(namesOf({})).toEqual(['api', 'db', 'web']);
    expect(namesOf({ order: 'state' })).toEqual(['web', 'api', 'db']);
    expect(namesOf({ order: 'changed' })).toEqual(['web', 'db', 'api']);
    expect(namesOf({ order: 'restarts' })).toEqual(['web', 'api', 'db']);
    expect(namesOf({ order: 'tools' })).toEqual(['db', 'api', 'web']);
  });

  it('keeps servers that match all filter words', () => {
    expect(namesOf({ text: 'CIRCUIT open' })).toEqual(['api']);
    expect(namesOf({ text: 'attempts' })).toEqual(['web']);
    expect(namesOf({ text: 'attempts db' })).toEqual([]);
    expect(namesOf({ states: ['ready'] })).toEqual(['api', 'db']);
  });

  it('puts servers that need the user first when grouped', () => {
    const groups = fleetGroups(servers, { ...all, grouped: true });
    expect(groups.map(({ state, servers: group }) => [state, group.length])).toEqual([
      ['failed', 1],
      ['ready', 2],
    ]);
  });

  it('counts servers by state', () => {
    expect(totals(servers)).toEqual([
      { state: 'ready', count: 2 },
      { state: 'failed', count: 1 },
    ]);
  });
});

describe('the fleet layout', () => {
  const many = Array.from({ length: 1_000 }, (_, place) =>
    statusOf(`s${String(place).padStart(4, '0')}`),
  );
  const layout = fleetLayout([{ servers: many }], 4 * sizes.tileWidth + 3 * sizes.gap);

  it('has as many columns as fit', () => {
    expect(layout.columns).toBe(4);
    expect(fleetLayout([{ servers: many }], 10).columns).toBe(1);
    expect(layout.height).toBe(250 * (sizes.tileHeight + sizes.gap));
  });

  it('renders the visible rows and a few around them', () => {
    const rows = rowsWithin(layout, 10_000, 800);
    const tops = rows.map(({ top }) => top);
    expect(Math.min(...tops)).toBeLessThanOrEqual(10_000 - sizes.tileHeight);
    expect(Math.max(...tops)).toBeGreaterThanOrEqual(10_800);
    expect(rows.length).toBeLessThan(16);
  });

  it('moves to neighbours with the arrow keys and stops at the ends', () => {
    expect(neighbour(layout, 's0005', 'ArrowRight')).toBe('s0006');
    expect(neighbour(layout, 's0005', 'ArrowDown')).toBe('s0009');
    expect(neighbour(layout, 's0005', 'ArrowUp')).toBe('s0001');
    expect(neighbour(layout, 's0000', 'ArrowLeft')).toBe('s0000');
    expect(neighbour(layout, 's0005', 'x')).toBeUndefined();
    expect(neighbour(layout, undefined, 'ArrowDown')).toBe('s0000');
  });
});
