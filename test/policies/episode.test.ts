import { describe, expect, it } from 'vitest';
import { Episode } from '../../src/policies/episode.ts';

describe('an episode', () => {
  it('begins once and ends when nothing has happened for the calm time', () => {
    const episode = new Episode(1_000, 4_000);
    expect([episode.note(0), episode.note(600)]).toEqual([true, false]);
    expect([1_000, 1_599, 1_600].map((now) => episode.leftMs(now))).toEqual([600, 1, 0]);
  });

  it('has to stay calm for longer when it soon begins again, up to a limit', () => {
    const episode = new Episode(1_000, 4_000);
    let now = 0;
    const lasted = Array.from({ length: 5 }, () => {
      episode.note(now);
      const leftMs = episode.leftMs(now);
      now += leftMs;
      episode.leftMs(now);
      return leftMs;
    });
    expect(lasted).toEqual([1_000, 2_000, 4_000, 4_000, 4_000]);
    episode.note(now + 8_000);
    expect(episode.leftMs(now + 8_000)).toBe(1_000);
  });

  it('stays over until it happens again', () => {
    const episode = new Episode(1_000, 4_000);
    episode.note(0);
    expect([episode.leftMs(1_000), episode.leftMs(5_000)]).toEqual([0, 0]);
    expect(episode.note(5_000)).toBe(true);
    expect(episode.leftMs(5_000)).toBe(1_000);
  });
});
