import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { baseline, control, subject } from '../../bench/contenders.ts';
import { rowsOf } from '../../bench/report.ts';
import { startWorks } from '../../bench/work/cold-start.ts';
import { runChild } from '../../lab/run-child.ts';

const file = fileURLToPath(new URL('../../bench/child.ts', import.meta.url));

// Three processes in sequence, each of which takes a second or two on an idle machine.
const timeout = 150_000;
const limitMs = 30_000;

describe('a round of the smallest benchmark', () => {
  it('yields a value for every metric and contender', { timeout }, async () => {
    const work = startWorks.find(({ name }) => name === 'start-1');
    if (work === undefined) throw new Error('There is no start-1.');
    const problems: string[] = [];
    const child = async (name: string, task: unknown): Promise<unknown> => {
      const node = ['--import', 'tsx'];
      const end = await runChild({ file, task: { work: name, task }, limitMs, node });
      problems.push(...end.problems);
      return end.answer;
    };
    const contenders = [baseline, subject, control];
    const rounds = await work.run({ contenders, rounds: 1, child });
    const rows = rowsOf(work, rounds);
    expect(problems).toEqual([]);
    const missing = rows.flatMap(({ measure, cells }) =>
      cells
        .filter(({ contender }) => contenders.includes(contender))
        .filter(({ value }) => value === null || !(value.median > 0))
        .map(({ contender }) => `${contender}: ${measure}`),
    );
    expect(missing).toEqual([]);
  });
});
