import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { mutants, staleMutants, testsOf } from '../../scripts/mutants/chart-mutants.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('chart mutants', () => {
  it('replace text that occurs exactly once in their chart', () => {
    expect(staleMutants(root)).toEqual([]);
  });

  it('have tests that can kill them', () => {
    const files = mutants.map((mutant) =>
      testsOf(mutant).map((file) => existsSync(`${root}test/machines/${file}.test.ts`)),
    );
    for (const found of files) expect(found).toEqual(expect.arrayContaining([true]));
    expect(files.flat()).not.toContain(false);
  });

  it('have unique names', () => {
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
  });
});
