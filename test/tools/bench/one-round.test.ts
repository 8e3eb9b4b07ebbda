import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runChild } from '../../bench/children.ts';
import { baseline, control, entries } from '../../bench/contenders.ts';
import { watched } from '../../bench/failures.ts';
import { rowsOf } from '../../bench/report.ts';
import { startWorks } from '../../bench/work/cold-start.ts';

const childFile = fileURLToPath(new URL('../../bench/child.ts', import.meta.url));

// Four processes, one after the other, each of which takes a second or two on a free machine.
const timeout = 150_000;
const limitMs = 30_000;

describe('one round of the smallest work', () => {
  it('has a value for every measure of every contender', { timeout }, async () => {
    const work = startWorks.find(({ name }) => name === 'start-1');
    if (work === undefined) throw new Error('There is no start-1.');
    const { child, failures } = watched((name, task) =>
      runChild(name, task, limitMs, ['--import', 'tsx'], childFile),
    );
    const contenders = [...Object.keys(entries), control];
    const rounds = await work.run({ contenders, rounds: 1, child });
    const rows = rowsOf(work, rounds, { contenders, baseline, subject: 'troupe', control });
    expect(failures()).toEqual([]);
    const missing = rows.flatMap(({ measure, cells }) =>
      cells
        .filter(({ value }) => value === null || !(value.median > 0))
        .map(({ contender }) => `${contender}: ${measure}`),
    );
    expect(missing).toEqual([]);
    expect(rows.map(({ cells }) => cells.length)).toEqual(rows.map(() => contenders.length));
  });

  it('has no answer from a child that crashes', { timeout }, async () => {
    const nodeOptions = ['--import', 'data:text/javascript,process.exit(7)'];
    expect(await runChild('start-1', {}, limitMs, nodeOptions, childFile)).toBeNull();
  });
});
