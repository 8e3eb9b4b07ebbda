import { describe, expect, it } from 'vitest';
import { gatesOf } from '../../machines/troupe.ts';
import { reachTroupe } from './troupe-ways.ts';

describe('gates of a root without settings', () => {
  it('exclude nothing and allow everything', () => {
    expect(gatesOf(reachTroupe([]).context)).toEqual({
      trusted: true,
      excluded: [],
      hostAllowed: null,
      decisions: [],
    });
  });
});
