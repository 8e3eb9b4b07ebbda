import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { chartMutants, staleMutants } from '../../scripts/mutants/chart-mutants.ts';
import { likeliestSites, Sites } from '../../scripts/mutants/parity-mutants.ts';
import { presetMutants } from '../../scripts/mutants/preset-mutants.ts';

const mutants = [...chartMutants, ...presetMutants];
const root = fileURLToPath(new URL('../..', import.meta.url));

describe('mutants', () => {
  it('replace text that occurs exactly once in their file', () => {
    expect(staleMutants(mutants, root)).toEqual([]);
  });

  it('have tests that can kill them', () => {
    expect(mutants.filter(({ tests }) => tests.length === 0).map(({ name }) => name)).toEqual([]);
    const files = new Set(mutants.flatMap(({ tests }) => tests));
    expect([...files].filter((file) => !existsSync(root + file))).toEqual([]);
  });

  it('have unique names', () => {
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
  });
});

describe('the sites of code', () => {
  const code = `
    const log = [];
    let word = 'none';
    word = 'more';
    const add = (one) => log.push(one);
    if (one) add('one'); else add('none');
    add(two === 2 ? 'two' : 'not two');
    while (log.length < 3) add(word);
    return log.join();`;
  const sites = new Sites();
  const loaded = sites.load('src/a.ts', code);
  const resultWithout = (broken?: number | string): unknown => {
    const site = (id: number, value: unknown): unknown => (id === broken ? !value : value);
    return runInNewContext(`(() => { ${loaded} })()`, { $site: site, one: true, two: 2 });
  };

  it('do not change it', () => {
    expect(resultWithout()).toBe('one,two,more');
  });

  it('are its conditions, comparisons, calls and assignments, except those of loops', () => {
    expect(sites.all.map(({ id, place, text }) => [place, text, resultWithout(id)])).toEqual([
      ['src/a.ts:4', "word = 'more'", 'one,two,none'],
      ['src/a.ts:6', 'one', 'none,two,more'],
      ['src/a.ts:6', "add('one')", 'two,more,more'],
      ['src/a.ts:6', "add('none')", 'one,two,more'],
      ['src/a.ts:7', "add(two === 2 ? 'two' : 'not two')", 'one,more,more'],
      ['src/a.ts:7', 'two === 2', 'one,not two,more'],
    ]);
  });

  it('include the transitions of charts, whichever steps they take', () => {
    const loadedFrom = (file: string): string =>
      new Sites().load(file, readFileSync(root + file, 'utf8'));
    expect(loadedFrom('machines/xstate/chart.ts')).toContain('$site.takes(it)');
    expect(loadedFrom('machines/permission.ts')).toContain('$site.follow($StateNode)');
  });
});

describe("a row's likeliest sites", () => {
  it('are executed by all of its tests and by few others', () => {
    const own = [[new Set([1, 2, 3, 4])], [new Set([1, 2, 3]), new Set([1, 2])]];
    const others = [new Set([1, 3]), new Set([1])];
    expect(likeliestSites(own, others, 1)).toEqual([2]);
    expect(likeliestSites(own, others, 2)).toEqual([2, 4]);
    expect(likeliestSites(own, others, 9)).toEqual([1, 2, 3, 4]);
    expect(likeliestSites([[]], [], 5)).toEqual([]);
  });
});
