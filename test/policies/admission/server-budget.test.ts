import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AdmittedServer, LiveServer } from '../../../src/domain/plan.ts';
import type { Verdict } from '../../../src/domain/server-state.ts';
import {
  isNearBudget,
  type Places,
  placesOf,
  withinBudget,
} from '../../../src/policies/admission/server-budget.ts';
import { desiredServer } from '../desired-server.ts';

const list = (...servers: readonly (readonly [string, Verdict])[]): AdmittedServer[] =>
  servers.map(([name, verdict]) => ({ desired: desiredServer({ name }), verdict }));
const refusedIn = (servers: readonly AdmittedServer[]): readonly string[] =>
  servers.flatMap(({ desired, verdict }) => (verdict === 'overBudget' ? desired.name : []));
const two = { max: 2, mode: 'enforce' } as const;
const places = (held: Iterable<string>, returned: Iterable<string> = []): Places => ({
  held: new Set(held),
  returned: new Set(returned),
});
const noPlaces = places([]);

describe('the server budget', () => {
  const four = list(['a', 'admitted'], ['off', 'disabled'], ['b', 'admitted'], ['c', 'admitted']);

  it('refuses the servers declared last and does not count inadmissible ones', () => {
    expect(refusedIn(withinBudget(four, two, noPlaces))).toEqual(['c']);
  });

  it('never takes a slot from a server that holds one', () => {
    expect(refusedIn(withinBudget(four, two, places(['b', 'c'])))).toEqual(['a']);
  });

  it('refuses the last holders when slots are removed', () => {
    const held = places(['a', 'b', 'c']);
    expect(refusedIn(withinBudget(four, { ...two, max: 1 }, held))).toEqual(['b', 'c']);
  });

  it('refuses no server when it only warns or is absent', () => {
    expect(withinBudget(four, { ...two, mode: 'warn' }, noPlaces)).toEqual(four);
    expect(withinBudget(four, undefined, noPlaces)).toEqual(four);
  });

  it('neither refuses nor counts stopped servers', () => {
    expect(refusedIn(withinBudget(four, two, places(['b'], ['a'])))).toEqual([]);
  });

  it("keeps a leaving server's slot until the server is gone", () => {
    expect(refusedIn(withinBudget(four, two, places(['b', 'off'])))).toEqual(['a', 'c']);
    expect(refusedIn(withinBudget(four, two, places(['b', 'gone'])))).toEqual(['a', 'c']);
    // A leaving server displaces no server that stays.
    expect(refusedIn(withinBudget(four, two, places(['a', 'b', 'gone'])))).toEqual(['c']);
  });

  it('returns a free slot to its last holder without displacing another server', () => {
    const withTurn = (held: readonly string[]) => ({ ...places(held), inTurn: ['c'] });
    expect(refusedIn(withinBudget(four, two, withTurn(['b'])))).toEqual(['a']);
    expect(refusedIn(withinBudget(four, two, withTurn(['a', 'b'])))).toEqual(['c']);
    expect(placesOf(new Map(), new Set(), ['c'])).toEqual(withTurn([]));
  });

  const letters = 'abcdefgh'.split('');
  const verdicts = fc.constantFrom<Verdict>('admitted', 'disabled', 'pendingApproval');
  const anyServers = fc
    .uniqueArray(fc.tuple(fc.constantFrom(...letters), verdicts), { selector: ([name]) => name })
    .map((servers) => list(...servers));
  const anyPlaces = fc
    .array(fc.constantFrom('held', 'returned', 'none'), { minLength: 8, maxLength: 8 })
    .map((states) => {
      const having = (state: string) => letters.filter((_, index) => states[index] === state);
      return places(having('held'), having('returned'));
    });

  it('is never exceeded, leaves no slot unused, and is stable once applied', () => {
    fc.assert(
      fc.property(anyServers, anyPlaces, fc.nat(6), (servers, before, max) => {
        const budget = { max, mode: 'enforce' } as const;
        const once = withinBudget(servers, budget, before);
        const namesOf = (among: readonly AdmittedServer[]) =>
          among
            .filter(({ verdict }) => verdict === 'admitted')
            .map(({ desired }) => desired.name)
            .filter((name) => !before.returned.has(name));
        const [wanting, given] = [namesOf(servers), namesOf(once)];
        const staying = wanting.filter((name) => before.held.has(name));
        const leavingCount = before.held.size - staying.length;
        // A leaving server keeps its place a moment longer, and no new server takes it yet.
        const free = Math.max(0, max - Math.min(max, staying.length) - leavingCount);
        expect(given).toHaveLength(
          Math.min(max, staying.length) + Math.min(free, wanting.length - staying.length),
        );
        expect(given.length).toBeLessThanOrEqual(max);
        const after = places([...before.held, ...given], before.returned);
        expect(withinBudget(servers, budget, after)).toEqual(once);
      }),
    );
  });

  it('refuses the same names regardless of the servers between them', () => {
    fc.assert(
      fc.property(anyServers, anyPlaces, fc.nat(6), (servers, before, max) => {
        const budget = { max, mode: 'enforce' } as const;
        const wanting = servers.filter(({ verdict }) => verdict === 'admitted');
        expect(refusedIn(withinBudget(servers, budget, before))).toEqual(
          refusedIn(withinBudget(wanting, budget, before)),
        );
      }),
    );
  });
});

describe('a budget slot', () => {
  const living = (verdict: Verdict, leaving: LiveServer['leaving'] = false): LiveServer => ({
    actorId: `${verdict}.0`,
    generation: 'g1',
    settingsDigest: '',
    verdict,
    leaving,
  });
  const live = new Map([
    ['runs', living('admitted')],
    ['closes', living('excluded')],
    ['out', living('disabled')],
    ['gaveUp', { ...living('admitted'), actorId: 'gaveUp.0' }],
    ['leaves', { ...living('admitted', 'now'), actorId: 'leaves.0' }],
  ]);
  const halted = new Set(['disabled.0', 'gaveUp.0', 'leaves.0']);

  it('is held until its server stops and requested again after a start', () => {
    expect(placesOf(live, halted)).toEqual(places(['runs', 'closes'], ['gaveUp']));
    expect(placesOf(live, halted, ['gaveUp'])).toEqual({
      ...places(['runs', 'closes']),
      inTurn: ['gaveUp'],
    });
  });

  it('is still held while a server that gave up finishes its calls', () => {
    const beside = living('admitted', 'afterCalls');
    const after = new Map([['db', { ...living('admitted'), actorId: 'db.1', beside }]]);
    expect(placesOf(after, new Set(['db.1']))).toEqual(places(['db']));
  });
});

describe('the budget warning', () => {
  it('appears at three quarters, then again only after most slots have been free', () => {
    const steps = [5, 6, 8, 6, 5, 3, 6, 2, 5, 6].map((taken) => taken);
    let near = false;
    const heard = steps.map((taken) => (near = isNearBudget(near, taken, 8)));
    expect(heard).toEqual([false, true, true, true, true, true, true, false, false, true]);
  });

  it('is not shown while no slot is taken', () => {
    expect(isNearBudget(true, 0, 0)).toBe(false);
    expect(isNearBudget(false, 0, 0)).toBe(false);
    expect(isNearBudget(false, 1, 1)).toBe(true);
  });
});
