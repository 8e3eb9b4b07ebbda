/** Joins several searches of one chart: what together they never took, and how much they tried. */

import { describeProblem, type Exploration } from '../../src/testing/explore.ts';

export type Searches = Readonly<Record<string, () => Exploration>>;

/** Runs each search once, whichever test asks first. */
export function runOnce(searches: Searches): (name: string) => Exploration {
  const found = new Map<string, Exploration>();
  return (name) => {
    const known = found.get(name) ?? searches[name]?.();
    if (known === undefined) throw new Error(`There is no search "${name}".`);
    found.set(name, known);
    return known;
  };
}

/** The problems of one search, ready to read. */
export function problemsOf({ problems }: Exploration): string {
  return problems.map(describeProblem).join('\n');
}

/** What is in every one of the lists. */
export function inAll(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...rest] = lists;
  return first.filter((entry) => rest.every((list) => list.includes(entry)));
}

/** One line a search, and one for all of them: a golden file to quote the numbers from. */
export function reportOf(searches: Searches, of: (name: string) => Exploration): string {
  const all = Object.keys(searches).map((name) => ({ name, ...of(name) }));
  const lines = all.map(({ name, states, transitions, covered }) =>
    line(name, states, transitions, covered),
  );
  const [first] = all;
  const count = first === undefined ? 0 : first.covered + first.uncovered.length;
  const missed = inAll(all.map(({ uncovered }) => uncovered)).length;
  const total = (pick: (one: Exploration) => number): number =>
    all.reduce((sum, one) => sum + pick(one), 0);
  return [
    line('search', 'states', 'events tried', 'transitions taken'),
    ...lines,
    line(
      'together',
      total(({ states }) => states),
      total(({ transitions }) => transitions),
      `${count - missed} of ${count}`,
    ),
    '',
  ].join('\n');
}

function line(name: string, ...numbers: readonly (number | string)[]): string {
  const columns = numbers.map((number) => number.toLocaleString('en-US').padStart(18));
  return name.padEnd(46) + columns.join('');
}
