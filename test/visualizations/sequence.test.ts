import { describe, expect, it } from 'vitest';
import type { InspectionRecord, PicturedActor } from '../../src/domain/host/inspection.ts';
import { activity } from '../../visualizations/page/model/activity.ts';
import { comparison } from '../../visualizations/page/model/divergence.ts';
import {
  isChosen,
  lifelines,
  outside,
  type RowKind,
  rowKinds,
  rowOf,
} from '../../visualizations/page/model/sequence-rows.ts';
import { statusOf } from './samples.ts';

const actor = (key: string, more: Partial<PicturedActor>): [string, PicturedActor] => [
  key,
  { actor: key, id: key, life: 'active', leaves: [], timers: [], ...more },
];
const actors = new Map([
  actor('x:0', { id: 'troupe', machine: 'troupe' }),
  actor('x:1', { id: 'slots', machine: 'slots', parent: 'x:0' }),
  actor('x:2', { id: 'db.0', machine: 'server', parent: 'x:0', server: 'db' }),
  actor('x:3', { id: 'session', parent: 'x:2', server: 'db' }),
  actor('x:4', { id: 'api.0', machine: 'server', parent: 'x:0', server: 'api' }),
]);
const event = (
  n: number,
  to: string,
  from?: string,
  type = 'session.opened',
): InspectionRecord => ({
  kind: 'event',
  n,
  t: n,
  to,
  type,
  ...(from === undefined ? {} : { from }),
});
const isOf = (key: string, server: string): boolean => actors.get(key)?.server === server;
const every = new Set<RowKind>(rowKinds);

describe("a sequence's lifelines", () => {
  it('follow the tree order, with the outside first', () => {
    const records = [event(1, 'x:4'), event(2, 'x:2', 'x:3'), event(3, 'x:1', 'x:0')];
    expect(lifelines(records, actors, 40).map(({ key }) => key)).toEqual([
      outside,
      'x:0',
      'x:1',
      'x:4',
      'x:2',
      'x:3',
    ]);
  });

  it('are limited in number', () => {
    const records = [event(1, 'x:4', 'x:0'), event(2, 'x:2', 'x:3')];
    expect(lifelines(records, actors, 2)).toHaveLength(2);
  });
});

describe("a sequence's rows", () => {
  it('are filtered by server, kind and text', () => {
    const record = event(1, 'x:2', 'x:3');
    const choose = (more: object): boolean =>
      isChosen(record, { kinds: every, text: '', ...more }, isOf);
    expect(choose({})).toBe(true);
    expect(choose({ server: 'db' })).toBe(true);
    expect(choose({ server: 'api' })).toBe(false);
    expect(choose({ kinds: new Set(['state']) })).toBe(false);
    expect(choose({ text: 'OPENED session' })).toBe(true);
    expect(choose({ text: 'closed' })).toBe(false);
  });

  it("show only a state's changes", () => {
    const leaves = ['connection.engaged.starting.connecting', 'catalog.none'];
    const record: InspectionRecord = {
      kind: 'state',
      n: 1,
      t: 1,
      actor: 'x:2',
      life: 'active',
      leaves,
    };
    expect(rowOf(record, ['connection.parked.dormant', 'catalog.none']).label).toBe(
      'starting.connecting',
    );
    expect(rowOf(record, leaves).label).toBe('stays');
    expect(rowOf({ ...record, life: 'done' }).label).toBe('is done');
  });

  it("draw an arrow from an event's sender and name timers after their delay", () => {
    expect(rowOf(event(1, 'x:2'))).toMatchObject({ draw: 'arrow', from: outside, to: 'x:2' });
    const fired = event(2, 'x:2', 'x:2', 'xstate.after.reconnectBackoff.server.connection.parked');
    expect(rowOf(fired)).toMatchObject({ from: 'x:2', to: 'x:2', label: 'after reconnectBackoff' });
  });
});

describe('a fork next to the original', () => {
  const state = (n: number, leaf: string): InspectionRecord => ({
    kind: 'state',
    n,
    t: n * 10,
    actor: 'x:2',
    life: 'active',
    leaves: [leaf],
  });

  it('shows where it differs from the original', () => {
    const real = [
      event(1, 'x:4'),
      event(2, 'x:2', 'x:3'),
      state(3, 'a.ready'),
      state(4, 'a.ready'),
      event(5, 'x:2', 'x:3', 'session.closed'),
    ];
    const fork = [
      event(1, 'x:2', 'x:3'),
      state(2, 'a.ready'),
      event(3, 'x:2', undefined, 'server.stop'),
    ];
    const compared = comparison('x:2', 10, real, fork);
    expect(compared.real.map(({ text }) => text)).toEqual([
      '→ session.opened',
      'a.ready',
      '→ session.closed',
    ]);
    expect(compared.fork.map(({ text }) => text)).toEqual([
      '→ session.opened',
      'a.ready',
      '→ server.stop',
    ]);
    expect(compared.differsAt).toBe(2);
  });

  it('shows no difference while one is a prefix of the other', () => {
    const records = [event(1, 'x:2', 'x:3')];
    expect(comparison('x:2', 0, [...records, state(2, 'a.b')], records).differsAt).toBeUndefined();
  });
});

describe('the activity band above the slider', () => {
  it('shows the amount of activity and the worst state', () => {
    const states = ['ready', 'ready', 'failed', 'backingOff'] as const;
    const records = states.map(
      (state, place): InspectionRecord => ({
        kind: 'status',
        n: place + 1,
        t: 0,
        status: statusOf('db', { state }),
      }),
    );
    expect(activity(records, 1, 4, 2)).toEqual([
      { place: 0, height: 1, tone: 'plain' },
      { place: 1, height: 1, tone: 'bad' },
    ]);
  });
});
