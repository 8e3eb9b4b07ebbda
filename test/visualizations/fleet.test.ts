import { describe, expect, it } from 'vitest';
import type { InspectionRecord } from '../../src/domain/host/inspection.ts';
import type { ServerStatus } from '../../src/domain/host/status.ts';
import { serverStates, statesByConcern } from '../../src/domain/server-state.ts';
import { causeOf } from '../../visualizations/page/model/cause.ts';
import {
  fleetLayout,
  neighbour,
  rowOf,
  rowsWithin,
  sizes,
} from '../../visualizations/page/model/fleet-layout.ts';
import {
  type FleetChoice,
  fleetGroups,
  lookFor,
  totals,
} from '../../visualizations/page/model/fleet-list.ts';
import {
  openingMoment,
  problemFrom,
  problemsIn,
} from '../../visualizations/page/model/problems.ts';
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
    expect(namesOf({ order: 'tools', isReversed: true })).toEqual(['web', 'api', 'db']);
  });

  it('ranks by calls and by memory, those without a process last', () => {
    const usage = {
      calls: new Map([
        ['api', 3],
        ['web', 40],
      ]),
      memory: new Map([['db', { bytes: 9, processCount: 1 }]]),
    };
    const ranked = (order: FleetChoice['order']): readonly string[] =>
      fleetGroups(servers, { ...all, order }, usage).flatMap((group) =>
        group.servers.map(({ name }) => name),
      );
    expect(ranked('calls')).toEqual(['web', 'api', 'db']);
    expect(ranked('memory')).toEqual(['db', 'api', 'web']);
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
  const { width, height, gap } = sizes.tile;
  const layout = fleetLayout([{ servers: many }], 4 * width + 3 * gap);

  it('has as many columns as fit', () => {
    expect(layout.rows[0]).toMatchObject({ kind: 'tile', columns: 4 });
    expect(fleetLayout([{ servers: many }], 10).rows[0]).toMatchObject({ columns: 1 });
    expect(layout.height).toBe(250 * (height + gap));
  });

  it('renders the visible rows and a few around them', () => {
    const rows = rowsWithin(layout, 10_000, 800);
    const tops = rows.map(({ top }) => top);
    expect(Math.min(...tops)).toBeLessThanOrEqual(10_000 - height);
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

  it('gives each problem a line of its own in a compact list, and lets the others share rows', () => {
    const mixed = [
      statusOf('a', { state: 'failed' }),
      statusOf('b', { state: 'backingOff' }),
      ...many.slice(0, 5),
    ];
    const list = fleetLayout([{ state: 'failed', servers: mixed }], 700, 'list');
    expect(list.rows.map(({ kind, height: each }) => [kind, each])).toEqual([
      ['heading', 40],
      ['line', 40],
      ['line', 40],
      ['chip', 34],
      ['chip', 34],
    ]);
    expect(rowOf(list, 's0004')?.place).toBe(5);
    expect(rowOf(list, 'none')).toBeUndefined();
    expect(neighbour(list, 'b', 'ArrowDown')).toBe('s0000');
    expect(neighbour(list, 's0002', 'ArrowUp')).toBe('b');
    expect(neighbour(list, 's0002', 'ArrowDown')).toBe('s0004');
    expect(neighbour(list, 's0004', 'ArrowDown')).toBe('s0004');
    // On a phone, the cause is below the name.
    expect(fleetLayout([{ servers: mixed }], 360, 'list').rows[0]).toMatchObject({ height: 78 });
  });

  it('is a list for many servers, unless the user chose otherwise', () => {
    expect(lookFor({}, 30)).toBe('tiles');
    expect(lookFor({}, 31)).toBe('list');
    expect(lookFor({ look: 'tiles' }, 1_000)).toBe('tiles');
  });
});

describe("a problem's cause", () => {
  const failed = (message: string, more: Partial<ServerStatus> = {}) =>
    causeOf(
      statusOf('db', {
        state: 'failed',
        lastError: { code: 'FAILED', kind: 'unavailable', message },
        ...more,
      }),
    );

  it("is the last failure's sentence, with what the process wrote first", () => {
    expect(failed('The command "x" was not found on PATH.')).toBe(
      'The command "x" was not found on PATH.',
    );
    expect(failed('The process exited with code 1. It wrote: Error: no database')).toBe(
      'Error: no database. The process exited with code 1.',
    );
    expect(
      failed('The request to https://a.example/mcp failed: getaddrinfo ENOTFOUND a.example.'),
    ).toBe('getaddrinfo ENOTFOUND a.example. The request to https://a.example/mcp failed.');
  });

  it('leaves out the place of an invalid entry, which the panel shows', () => {
    const source = {
      file: '/p/troupe.json',
      key: 'mcpServers.db',
      line: 1,
      scope: 'user',
    } as const;
    expect(failed('/p/troupe.json:14 mcpServers.db.command: is empty', { source })).toBe(
      'command: is empty',
    );
    expect(failed('/p/other.json:14 x', { source })).toBe('/p/other.json:14 x');
  });

  it('is the next step of a server that waits for the user, and nothing for one that works', () => {
    const action = 'troupe approve db';
    expect(causeOf(statusOf('db', { state: 'blocked', action }))).toBe(action);
    expect(failed('an old failure', { state: 'ready' })).toBeUndefined();
  });
});

describe("a recording's problems", () => {
  let n = 0;
  const seen = (name: string, state: ServerStatus['state']): InspectionRecord => {
    n += 1;
    return { kind: 'status', n, t: n, status: statusOf(name, { state }) };
  };
  const stopped = (): InspectionRecord => {
    n += 1;
    return { kind: 'state', n, t: n, actor: 'x:0', life: 'active', leaves: ['stopping'] };
  };
  const fresh = (...records: readonly (() => InspectionRecord)[]) => {
    n = 0;
    return records.map((each) => each());
  };
  const isRoot = (actor: string): boolean => actor === 'x:0';

  it('begin when a server enters such a state, and again after it recovered', () => {
    const records = fresh(
      () => seen('db', 'ready'),
      () => seen('db', 'backingOff'),
      () => seen('db', 'backingOff'),
      () => seen('web', 'blocked'),
      () => seen('db', 'ready'),
      () => seen('db', 'backingOff'),
      () => ({ kind: 'gone', n: (n += 1), t: n, server: 'db' }),
      () => seen('db', 'backingOff'),
    );
    expect(problemsIn(records).map((each) => [each.n, each.server])).toEqual([
      [2, 'db'],
      [4, 'web'],
      [6, 'db'],
      [8, 'db'],
    ]);
    expect(problemFrom(records, 2, 1)?.n).toBe(4);
    expect(problemFrom(records, 4, -1)?.n).toBe(2);
    expect(problemFrom(records, 8, 1)).toBeUndefined();
  });

  it('count from the moment at which the charts have followed the status', () => {
    const entered = (): InspectionRecord => {
      n += 1;
      return { kind: 'state', n, t: n, actor: 'x:4', life: 'active', leaves: [] };
    };
    const other = (): InspectionRecord => {
      n += 1;
      return { kind: 'event', n, t: n, to: 'x:4', type: 'slot.granted' };
    };
    const records = fresh(() => seen('db', 'failed'), entered, entered, other, entered);
    expect(problemsIn(records).map((each) => each.n)).toEqual([3]);
    expect(openingMoment(records, isRoot)).toMatchObject({ n: 3, server: 'db' });
    expect(problemFrom(records, 3, 1)).toBeUndefined();
  });

  it('decide where it opens: at the first failure, the first problem, or before the stop', () => {
    const failing = fresh(
      () => seen('a', 'blocked'),
      () => seen('b', 'failed'),
    );
    expect(openingMoment(failing, isRoot)).toMatchObject({ n: 2, server: 'b' });
    expect(openingMoment(failing.slice(0, 1), isRoot)).toMatchObject({ n: 1, server: 'a' });
    const calm = fresh(() => seen('a', 'ready'), stopped, stopped);
    expect(openingMoment(calm, isRoot)).toEqual({ n: 1 });
    expect(openingMoment(calm.slice(0, 1), isRoot)).toBeUndefined();
  });
});
