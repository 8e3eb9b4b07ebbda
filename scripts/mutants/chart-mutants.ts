import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface Mutant {
  /** What the broken code does. */
  readonly name: string;
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Paths of the tests that must notice it, from the root. */
  readonly tests: readonly string[];
  /** Titles of the tests of which one must fail, by path; any test if absent. */
  readonly titles?: readonly { readonly file: string; readonly title: RegExp }[];
}

/** Behaviour tests by chart; none of them compares source text. */
const testsByChart: Readonly<Record<string, readonly string[]>> = {
  server: ['server/replies', 'server/traces', 'server/evidence'],
  session: ['session/replies', 'session/traces', 'session/lists'],
  slots: ['slots', 'troupe/traces'],
  troupe: ['troupe/replies', 'troupe/traces'],
  xstate: ['xstate/chart'],
};

function testsOf(file: string): readonly string[] {
  const [, chart = ''] = /^machines\/(\w+)/.exec(file) ?? [];
  return (testsByChart[chart] ?? []).map((test) => `test/machines/${test}.test.ts`);
}

/** Describes each mutant whose text does not occur exactly once in its file. */
export function staleMutants(mutants: readonly Mutant[], root: string): readonly string[] {
  return mutants.flatMap(({ name, file, find }) => {
    const count = readFileSync(root + file, 'utf8').split(find).length - 1;
    return count === 1 ? [] : [`${name}: its text occurs ${count} times in ${file}`];
  });
}

type Change = Pick<Mutant, 'name' | 'find' | 'replace'>;
const changes = parse(
  readFileSync(new URL('chart-mutants.yaml', import.meta.url), 'utf8'),
) as Record<string, readonly Change[]>;

export const chartMutants: readonly Mutant[] = Object.entries(changes).flatMap(([file, ofFile]) =>
  ofFile.map((change) => ({ ...change, file, tests: testsOf(file) })),
);
