import { describe, expect, it } from 'vitest';

import {
  cameTwice,
  censusOf,
  engineKind,
  growthOf,
  type HeapSnapshot,
} from '../../scripts/leaks/heap-census.ts';

const types = ['hidden', 'array', 'string', 'object', 'code', 'concatenated string'];

function snapshotOf(...nodes: readonly (readonly [string, string, number])[]): HeapSnapshot {
  const strings = [...new Set(nodes.map(([, name]) => name))];
  return {
    snapshot: {
      meta: {
        node_fields: ['type', 'name', 'id', 'self_size', 'edge_count'],
        node_types: [types, 'string', 'number', 'number', 'number'],
      },
    },
    nodes: nodes.flatMap(([type, name, bytes], index) => [
      types.indexOf(type),
      strings.indexOf(name),
      index,
      bytes,
      0,
    ]),
    strings,
  };
}

describe('the heap census', () => {
  it('counts objects by class and strings as one group', () => {
    const census = censusOf(
      snapshotOf(
        ['object', 'Map', 32],
        ['object', 'Map', 40],
        ['string', 'a', 16],
        ['string', 'b', 24],
      ),
    );
    expect(census).toEqual(
      new Map([
        ['object Map', { count: 2, bytes: 72 }],
        ['string', { count: 2, bytes: 40 }],
      ]),
    );
  });

  it("counts the engine's objects separately", () => {
    const census = censusOf(
      snapshotOf(
        ['code', 'call', 1_000],
        ['hidden', 'system / WeakArrayList', 500],
        ['hidden', 'system / PropertyArray', 64],
      ),
    );
    expect(census.get(engineKind)).toEqual({ count: 2, bytes: 1_500 });
    expect(census.get('hidden system / PropertyArray')).toEqual({ count: 1, bytes: 64 });
  });

  it('lists growth by kind, largest first', () => {
    const before = censusOf(snapshotOf(['object', 'Old', 8], ['object', 'Same', 8]));
    const after = censusOf(
      snapshotOf(['object', 'Same', 8], ['object', 'Some', 16], ['object', 'Many', 99]),
    );
    expect(growthOf(before, after)).toEqual([
      { kind: 'object Many', count: 1, bytes: 99 },
      { kind: 'object Some', count: 1, bytes: 16 },
      { kind: 'object Old', count: -1, bytes: -8 },
    ]);
  });

  it('counts only repeated growth as a leak', () => {
    const [before, between, after] = [1, 2, 3].map((turn) =>
      censusOf(
        snapshotOf(
          ['object', 'WeakRef', 32 * turn],
          ['object', 'Once', turn === 1 ? 0 : 5_000],
          ['string', 'source', turn === 3 ? 0 : 90_000],
          ['code', 'call', 1_000 * turn],
        ),
      ),
    );
    expect(before && between && after && cameTwice(before, between, after)).toBe(32);
  });
});
