import { describe, expect, it } from 'vitest';
import { isolatedRounds, turnsOf } from '../../bench/work.ts';

const contenders = ['A', 'B', 'C'];

describe('turnsOf()', () => {
  it('changes the order every round', () => {
    const rounds = [0, 1, 2, 3, 4, 5].map((round) => turnsOf(contenders, round).join(''));
    expect(rounds).toEqual(['ABC', 'CBA', 'BCA', 'ACB', 'CAB', 'BAC']);
  });

  it('includes every contender once per round and either order equally often', () => {
    const rounds = Array.from({ length: 8 }, (_, round) => turnsOf(['A', 'B', 'C', 'D'], round));
    for (const turns of rounds) expect([...turns].sort()).toEqual(['A', 'B', 'C', 'D']);
    const before = rounds.filter((turns) => turns.indexOf('A') < turns.indexOf('C'));
    expect(before).toHaveLength(4);
  });

  it('returns an empty list without contenders', () => {
    expect(turnsOf([], 3)).toEqual([]);
  });
});

describe('isolatedRounds()', () => {
  it("runs each contender in turn and omits a failed contender's values", async () => {
    const turns: unknown[] = [];
    const child = (_work: string, task: unknown) => {
      turns.push(task);
      return Promise.resolve(task === 'B' ? null : { time: 1 });
    };
    const work = { name: 'walk', measures: [] };
    const rounds = await isolatedRounds({ contenders, rounds: 2, child }, work, (name) => name);
    expect(turns.join('')).toBe('ABCCBA');
    const round = { A: { time: 1 }, B: {}, C: { time: 1 } };
    expect(rounds).toEqual([round, round]);
  });
});
