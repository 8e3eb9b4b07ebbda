import { describe, expect, it } from 'vitest';
import { gatesOf } from '../../machines/troupe/troupe.ts';
import { GroupedMap } from '../../src/policies/grouped-map.ts';
import { reachTroupe } from './troupe/ways.ts';

describe("the root's gates", () => {
  it('exclude nothing and allow everything without settings', () => {
    expect(gatesOf(reachTroupe([]).context)).toEqual({
      trusted: true,
      excluded: [],
      hostAllowed: null,
      decisions: GroupedMap.of(),
    });
  });

  it("keep every live server's budget slot while none is reported at rest", () => {
    const { context } = reachTroupe(['settings.loaded']);
    const names = [...context.live.keys()];
    expect(names).not.toEqual([]);
    const budget = { max: 1, mode: 'enforce' } as const;
    const settings = context.settings === null ? null : { ...context.settings, budget };
    const places = { held: new Set(names), returned: new Set() };
    expect(gatesOf({ ...context, settings }).places).toEqual(places);
  });
});
