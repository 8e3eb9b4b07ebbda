import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AdmittedServer } from '../../src/domain/plan.ts';
import type { Verdict } from '../../src/domain/server-state.ts';
import { isNearBudget, withinBudget } from '../../src/policies/server-budget.ts';
import { desiredServer } from './desired-server.ts';

const list = (...servers: readonly (readonly [string, Verdict])[]): AdmittedServer[] =>
  servers.map(([name, verdict]) => ({ desired: desiredServer({ name }), verdict }));
const refusedIn = (servers: readonly AdmittedServer[]): readonly string[] =>
  servers.flatMap(({ desired, verdict }) => (verdict === 'overBudget' ? desired.name : []));
const two = { max: 2, mode: 'enforce' } as const;
const nobody = new Set<string>();

describe('the budget for servers', () => {
  const four = list(['a', 'admitted'], ['off', 'disabled'], ['b', 'admitted'], ['c', 'admitted']);

  it('refuses the last ones declared, and counts nobody who may not run anyway', () => {
    expect(refusedIn(withinBudget(four, two, nobody))).toEqual(['c']);
  });

  it('takes no place from who has one', () => {
    expect(refusedIn(withinBudget(four, two, new Set(['b', 'c'])))).toEqual(['a']);
  });

  it('refuses the last of those who have a place when there are fewer places', () => {
    const held = new Set(['a', 'b', 'c']);
    expect(refusedIn(withinBudget(four, { ...two, max: 1 }, held))).toEqual(['b', 'c']);
  });

  it('refuses nobody when it only warns, or when there is none', () => {
    expect(withinBudget(four, { ...two, mode: 'warn' }, nobody)).toEqual(four);
    expect(withinBudget(four, undefined, nobody)).toEqual(four);
  });

  const letters = 'abcdefgh'.split('');
  const verdicts = fc.constantFrom<Verdict>('admitted', 'disabled', 'pendingApproval');
  const anyServers = fc
    .uniqueArray(fc.tuple(fc.constantFrom(...letters), verdicts), { selector: ([name]) => name })
    .map((servers) => list(...servers));
  const anyHeld = fc.subarray(letters).map((names) => new Set(names));

  it('is never overdrawn, leaves no place unused, and gives the same again once applied', () => {
    fc.assert(
      fc.property(anyServers, anyHeld, fc.nat(6), (servers, held, max) => {
        const budget = { max, mode: 'enforce' } as const;
        const once = withinBudget(servers, budget, held);
        const admitted = once.filter(({ verdict }) => verdict === 'admitted');
        const wanting = servers.filter(({ verdict }) => verdict === 'admitted');
        expect(admitted).toHaveLength(Math.min(max, wanting.length));
        const holders = new Set(admitted.map(({ desired }) => desired.name));
        expect(withinBudget(servers, budget, holders)).toEqual(once);
      }),
    );
  });

  it('refuses the same names whatever stands between them', () => {
    fc.assert(
      fc.property(anyServers, anyHeld, fc.nat(6), (servers, held, max) => {
        const budget = { max, mode: 'enforce' } as const;
        const wanting = servers.filter(({ verdict }) => verdict === 'admitted');
        expect(refusedIn(withinBudget(servers, budget, held))).toEqual(
          refusedIn(withinBudget(wanting, budget, held)),
        );
      }),
    );
  });
});

describe('the warning about the budget', () => {
  it('comes at three quarters, and again only after most of it was free', () => {
    const steps = [5, 6, 8, 6, 5, 3, 6, 2, 5, 6].map((taken) => taken);
    let near = false;
    const heard = steps.map((taken) => (near = isNearBudget(near, taken, 8)));
    expect(heard).toEqual([false, true, true, true, true, true, true, false, false, true]);
  });

  it('does not come while nobody has a place', () => {
    expect(isNearBudget(true, 0, 0)).toBe(false);
    expect(isNearBudget(false, 0, 0)).toBe(false);
    expect(isNearBudget(false, 1, 1)).toBe(true);
  });
});
