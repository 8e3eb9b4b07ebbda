import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { chartMutants, staleMutants } from '../../scripts/mutants/chart-mutants.ts';
import { Sites } from '../../scripts/mutants/parity-mutants.ts';
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
  const resultWithout = (broken?: number): unknown => {
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
});
