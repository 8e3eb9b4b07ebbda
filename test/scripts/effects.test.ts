import { describe, expect, it } from 'vitest';
import { type CallEnd, runEffects } from '../../scripts/effects/effect-calls.ts';
import { places } from '../../scripts/effects/effect-places.ts';
import { effectTable, liesIn } from '../../scripts/effects/verdict.ts';

const call = (end: CallEnd['end'], effects: number): CallEnd => ({
  n: 0,
  carrier: 'stdio',
  place: 'afterEffect',
  end,
  effects,
});

describe('the outcomes reported to callers', () => {
  it.each([
    [call('ok', 2), 'ran twice'],
    [call('unknown', 2), 'ran twice'],
    [call('not_executed', 1), 'not executed, but ran'],
    [call('ok', 0), 'executed, but did not run'],
    [call('executed', 0), 'executed, but did not run'],
  ])('count as wrong when they contradict the runs: %#', (told, what) => {
    expect(liesIn([told])).toEqual([{ what, call: told }]);
    expect(effectTable([told])).toMatch(/stdio +afterEffect +1 .* 1\n/u);
  });

  it.each([
    call('ok', 1),
    call('executed', 1),
    call('not_executed', 0),
    call('unknown', 0),
    call('unknown', 1),
  ])('count as correct when they match the runs: %#', (told) => {
    expect(liesIn([told])).toEqual([]);
  });

  it('are correct for every call, wherever its server dies', { timeout: 120_000 }, async () => {
    const ends = await runEffects({ calls: 160, seed: 7 });
    expect(liesIn(ends)).toEqual([]);
    expect(ends.map(({ n }) => n)).toEqual(Array.from({ length: 160 }, (_, n) => n));
    expect(new Set(ends.map(({ place }) => place))).toEqual(new Set(places));
    // Without both ends the test would prove nothing.
    expect(new Set(ends.map(({ end }) => end))).toContain('ok');
    expect(new Set(ends.map(({ end }) => end))).toContain('unknown');
  });
});
