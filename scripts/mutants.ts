/**
 * Breaks the charts on purpose and reports which breaks the chart tests notice: `npm run mutants`.
 * `npm run mutants -- presets` changes the presets' numbers instead, and reports which of them the
 * tests that docs/parity.md names notice, and `-- parity` breaks the code behind its rows
 * (scripts/mutants/parity-mutants.ts). Names, or the beginnings of names, after that choose some
 * mutants. Each mutant replaces one text of one file while vitest loads it; no file is written. All
 * charts take 100 s of CPU time, all presets ten minutes. The exit code is 1 when a mutant survives or does
 * not load, when the unchanged code fails, or when a text to be replaced does not occur exactly once.
 */

import { fileURLToPath } from 'node:url';
import { startVitest, type TestModule } from 'vitest/node';
import { chartMutants, type Mutant, staleMutants } from './mutants/chart-mutants.ts';
import { breakDrawnRows } from './mutants/parity-mutants.ts';
import { presetMutants } from './mutants/preset-mutants.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

// Far longer than a test of a chart; a mutant that hangs counts as killed.
const testTimeoutMs = 20_000;
const unchanged = 'unchanged';

type Outcome = 'survived' | 'killed' | 'does not load';

interface Project {
  readonly name: string;
  readonly tests: readonly string[];
  readonly mutant?: Mutant;
}

function projectOf({ name, tests, mutant }: Project) {
  const transform = (code: string, id: string): string | null =>
    mutant !== undefined && id === root + mutant.file
      ? code.replace(mutant.find, () => mutant.replace)
      : null;
  return {
    root,
    plugins: [{ name: 'mutant', enforce: 'pre' as const, transform }],
    test: {
      name,
      include: [...tests],
      pool: 'forks' as const,
      globalSetup: `${root}test/support/compiled-folder.ts`,
      testTimeout: testTimeoutMs,
    },
  };
}

/** Returns the outcome of the tests by project. */
async function run(chosen: readonly Mutant[]): Promise<ReadonlyMap<string, Outcome>> {
  const projects: readonly Project[] = [
    { name: unchanged, tests: [...new Set(chosen.flatMap(({ tests }) => tests))] },
    ...chosen.map((mutant) => ({ name: mutant.name, tests: mutant.tests, mutant })),
  ];
  // Outside CI, vitest writes golden files that are missing.
  process.env['CI'] = 'true';
  const vitest = await startVitest('test', [], {
    config: false,
    watch: false,
    maxWorkers: 2,
    // Failures are expected here, and too many to print.
    reporters: [{}],
    projects: projects.map(projectOf),
  });
  const modules = vitest.state.getTestModules();
  await vitest.close();
  return new Map(
    projects.map(({ name, mutant }) => [
      name,
      outcomeOf(
        modules.filter((module) => module.project.name === name),
        mutant?.titles,
      ),
    ]),
  );
}

function outcomeOf(modules: readonly TestModule[], titles?: Mutant['titles']): Outcome {
  if (titles !== undefined) return modules.some(isNoticed(titles)) ? 'killed' : 'survived';
  if (modules.length === 0) return 'does not load';
  if (modules.some((module) => module.errors().length > 0)) return 'does not load';
  return modules.every((module) => module.ok()) ? 'survived' : 'killed';
}

function isNoticed(titles: NonNullable<Mutant['titles']>) {
  return ({ children, relativeModuleId }: TestModule): boolean =>
    [...children.allTests('failed')].some(({ name }) =>
      titles.some(({ file, title }) => file === relativeModuleId && title.test(name)),
    );
}

async function main(args: readonly string[]): Promise<boolean> {
  if (args[0] === 'parity') return breakDrawnRows(root, args.slice(1));
  const names = args.filter((arg) => arg !== 'presets');
  const mutants = names.length === args.length ? chartMutants : presetMutants;
  const unknown = names.filter((name) => !mutants.some((mutant) => mutant.name.startsWith(name)));
  const stale = staleMutants(mutants, root);
  const problems = [...unknown.map((name) => `no mutant "${name}"`), ...stale];
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) return false;
  const isChosen = ({ name }: Mutant): boolean => names.some((start) => name.startsWith(start));
  const chosen = names.length === 0 ? mutants : mutants.filter(isChosen);
  const startedAt = performance.now();
  const outcomes = await run(chosen);
  for (const { name, file } of chosen) console.log(`${outcomes.get(name)}: ${name} (${file})`);
  const killedCount = chosen.filter(({ name }) => outcomes.get(name) === 'killed').length;
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  console.log(`${killedCount} of ${chosen.length} killed in ${seconds} s`);
  const areTestsGreen = outcomes.get(unchanged) === 'survived';
  if (!areTestsGreen) console.error('the tests fail without any mutant');
  return areTestsGreen && killedCount === chosen.length;
}

process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1;
