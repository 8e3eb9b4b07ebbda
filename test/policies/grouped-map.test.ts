import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GroupedMap } from '../../src/policies/grouped-map.ts';

const key = fc.nat(300).map((index) => `s${index}`);
const change = fc.tuple(key, fc.option(fc.nat(3), { nil: undefined }));
const batches = fc.array(fc.array(change, { maxLength: 150 }), { maxLength: 6 });

const ascending = (one: number, other: number): number => one - other;
const names = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `server${index}`);

describe('GroupedMap', () => {
  it('agrees with a plain map after any changes, and leaves earlier maps as they were', () => {
    fc.assert(
      fc.property(batches, (steps) => {
        const plain = new Map<string, number>();
        let grouped = GroupedMap.of<number>();
        for (const step of steps) {
          const [before, earlier] = [grouped, [...grouped]];
          const past = new Map(plain);
          grouped = grouped.withAll(step);
          for (const [name, value] of step) {
            if (value === undefined) plain.delete(name);
            else plain.set(name, value);
          }
          expect([...before]).toEqual(earlier);
          expect(new Map(grouped)).toEqual(plain);
          expect(grouped.size).toBe(plain.size);
          expect([...grouped.keys()].every((name) => grouped.has(name))).toBe(true);
          expect([...grouped.values()].sort(ascending)).toEqual(
            [...plain.values()].sort(ascending),
          );
          const differing = [...new Set([...past.keys(), ...plain.keys()])].filter(
            (name) => past.get(name) !== plain.get(name),
          );
          expect([...grouped.changesSince(before)].sort()).toEqual(differing.sort());
        }
      }),
    );
  });

  it('keeps the order of insertion of up to 64 entries', () => {
    const few = names(64).toReversed();
    expect([...GroupedMap.of(few.map((name) => [name, true])).keys()]).toEqual(few);
  });

  it('returns the same map when nothing differs', () => {
    const map = GroupedMap.of([['db', 1]]);
    expect(map.with('db', 1)).toBe(map);
    expect(map.without('api')).toBe(map);
    expect(map.without('db').size).toBe(0);
  });

  it('shares all entries but those of one group with a changed copy', () => {
    const values = names(10_000).map((name) => [name, {}] as const);
    const map = GroupedMap.of(values);
    expect(map.with('server7', {}).changesSince(map)).toEqual(['server7']);
    expect(map.changesSince(GroupedMap.of(values.slice(7)))).toHaveLength(7);
    expect(map.changesSince(GroupedMap.of(values.slice(0, 7)))).toHaveLength(9_993);
    expect(GroupedMap.of(values.slice(0, 7)).changesSince(map)).toHaveLength(9_993);
    expect(map.get('server9999')).toBe(values[9_999]?.[1]);
    expect(map.has('server10000')).toBe(false);
  });
});
