import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { chartMutants, staleMutants } from '../../scripts/mutants/chart-mutants.ts';
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
