import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InspectionRecord } from '../../src/domain/host/inspection.ts';
import type { ServerState } from '../../src/domain/server-state.ts';
import { troupeStateIn } from '../../src/recorder/picture.ts';
import { History } from '../../visualizations/page/model/history.ts';
import { actorOf, advance, sessionOf, worldOf } from '../../visualizations/page/model/world.ts';
import { emptyPicture, statusOf } from './samples.ts';

const made: InspectionRecord = {
  kind: 'actor',
  n: 1,
  t: 5,
  actor: 'x:1',
  id: 'db.0',
  parent: 'x:0',
  machine: 'server',
  server: 'db',
};

function changes(states: readonly ServerState[]): readonly InspectionRecord[] {
  return states.map((state, place) => ({
    kind: 'status',
    n: place + 1,
    t: place * 10,
    status: statusOf('db', { state }),
  }));
}

describe("the page's history", () => {
  it('shows every moment as if all records up to it had been applied', () => {
    const states: ServerState[] = ['ready', 'backingOff', 'connecting'];
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...states), { minLength: 1, maxLength: 300 }),
        fc.nat(300),
        (sequence, at) => {
          const records = changes(sequence);
          const history = new History(emptyPicture);
          for (const record of records) expect(history.add(record)).toBe(true);
          const naive = worldOf(emptyPicture);
          for (const record of records.slice(0, Math.min(at, records.length)))
            advance(naive, record);
          expect(history.at(at)).toEqual(naive);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('reaches moments before and after its stored snapshots', () => {
    const history = new History(emptyPicture);
    const count = 6_500;
    for (const record of changes(
      Array.from({ length: count }, (_, place) => (place % 2 === 0 ? 'ready' : 'backingOff')),
    ))
      history.add(record);
    for (const at of [1, 1_999, 2_000, 2_001, 4_000, 6_500]) {
      const world = history.at(at);
      expect(world.n).toBe(at);
      expect(world.servers.get('db')?.state).toBe(at % 2 === 1 ? 'ready' : 'backingOff');
    }
  });

  it('removes the oldest records beyond its limit but keeps their effect', () => {
    const history = new History(emptyPicture, 4_000);
    history.add(made);
    for (let n = 2; n <= 6_001; n += 1) {
      history.add({ kind: 'ignored', n, t: n, actor: 'x:1', type: 'server.demanded' });
    }
    expect(history.first).toBe(2_000);
    expect(history.records[0]?.n).toBe(2_001);
    expect(history.at(0).n).toBe(2_000);
    expect(history.at(6_001).actors.get('x:1')?.id).toBe('db.0');
    expect(history.at(3_000).moves.get('x:1')?.ignored?.n).toBe(3_000);
  });

  it('rejects a record after a gap and ignores a duplicate', () => {
    const history = new History(emptyPicture);
    expect(history.add(made)).toBe(true);
    expect(history.add(made)).toBe(true);
    expect(history.records).toHaveLength(1);
    expect(history.add({ ...made, n: 3 })).toBe(false);
    expect(history.last).toBe(1);
  });

  it('keeps the names of ended actors as long as records mention them', () => {
    const history = new History(emptyPicture);
    history.add(made);
    history.add({ kind: 'state', n: 2, t: 6, actor: 'x:1', life: 'done', leaves: [] });
    expect(history.at(2).actors.has('x:1')).toBe(false);
    expect(history.known.get('x:1')?.server).toBe('db');
  });
});

describe('a snapshot', () => {
  it("counts eventless transitions as part of their event's step", () => {
    const world = worldOf(emptyPicture);
    advance(world, {
      kind: 'step',
      n: 1,
      t: 1,
      actor: 'x:1',
      type: 'xstate.done.actor.session',
      edges: ['a#0'],
    });
    advance(world, { kind: 'step', n: 2, t: 1, actor: 'x:1', type: '', edges: ['b#1'] });
    expect(world.moves.get('x:1')?.step).toEqual({
      n: 2,
      t: 1,
      type: 'xstate.done.actor.session',
      edges: ['a#0', 'b#1'],
    });
    advance(world, { kind: 'step', n: 3, t: 2, actor: 'x:1', type: 'server.stop', edges: ['c#0'] });
    expect(world.moves.get('x:1')?.step?.edges).toEqual(['c#0']);
  });

  it("adds only changed states to a server's trail", () => {
    const world = worldOf(emptyPicture);
    for (const record of changes(['ready', 'ready', 'backingOff'])) advance(world, record);
    expect(world.trails.get('db')?.map(({ state }) => state)).toEqual(['ready', 'backingOff']);
  });

  it("shows a server's newest generation", () => {
    const world = worldOf(emptyPicture);
    advance(world, made);
    advance(world, { ...made, n: 2, actor: 'x:9', id: 'db.1' });
    expect(actorOf(world, 'db')?.id).toBe('db.1');
    expect(actorOf(world, 'other')).toBeUndefined();
  });

  it("finds a server's live session", () => {
    const world = worldOf(emptyPicture);
    advance(world, made);
    const server = actorOf(world, 'db');
    if (server === undefined) throw new Error('the server is missing');
    expect(sessionOf(world, server)).toBeUndefined();
    const session = { ...made, id: 'session', machine: 'session', parent: 'x:1' } as const;
    advance(world, { ...session, n: 2, actor: 'x:7' });
    advance(world, { kind: 'state', n: 3, t: 6, actor: 'x:7', life: 'done', leaves: [] });
    expect(sessionOf(world, server)).toBeUndefined();
    advance(world, { ...session, n: 4, actor: 'x:9' });
    advance(world, { ...session, n: 5, actor: 'x:10', parent: 'x:2' });
    const found = sessionOf(world, server);
    expect(found?.actor).toBe('x:9');
    expect(found && sessionOf(world, found)).toBeUndefined();
  });
});

describe("the troupe's state", () => {
  const root: InspectionRecord = {
    kind: 'actor',
    n: 1,
    t: 0,
    actor: 'x:0',
    id: 'troupe',
    machine: 'troupe',
  };
  const stateAfter = (life: 'active' | 'done', leaf: string): string | undefined => {
    const world = worldOf(emptyPicture);
    advance(world, root);
    advance(world, { kind: 'state', n: 2, t: 0, actor: 'x:0', life, leaves: [leaf] });
    return troupeStateIn(world);
  };

  it("matches the chart's current state", () => {
    expect(stateAfter('active', 'serving.starting.reading')).toBe('starting');
    expect(stateAfter('active', 'serving.running')).toBe('running');
    expect(stateAfter('active', 'stopping')).toBe('stopping');
    expect(stateAfter('done', 'stopped')).toBe('stopped');
    expect(troupeStateIn(worldOf(emptyPicture))).toBeUndefined();
  });
});
