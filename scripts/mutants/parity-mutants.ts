/**
 * Breaks the code behind drawn rows of docs/parity.md: `npm run mutants -- parity --sample 60 --seed 1`.
 *
 * While vitest loads the code, each comparison, condition and call statement becomes a site that
 * can be broken at run time: negated, or left out. For each row, its named tests run once to record
 * the sites that they execute. A site that the tests of few other rows execute most likely belongs
 * to the row's behaviour, so one of the rarest is broken, chosen by the seed, and the tests run again.
 *
 * A killed row proves that its tests check code that is specific to them, not that they check
 * every word of the row. A survivor is a row to read: its tests check too little, the site does not
 * belong to its behaviour, or breaking the site has no effect. Code that tests run in other
 * processes has no sites; a row without any is replaced by the next of the draw.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { createVitest, type Vitest } from 'vitest/node';
import { chanceOf } from '../../src/policies/seeded-random.ts';
import vitestConfig from '../../vitest.config.ts';
import type { ShownRow } from '../docs/shown-rows.ts';
import { page, patternOf, testsOf } from './preset-mutants.ts';

/** A place in the code that can be broken. */
interface Site {
  readonly id: number;
  readonly place: string;
  readonly text: string;
}

// Single survivors can be sites that have nothing to do with their row.
const leastShare = 57 / 60;

// Generated tables, and the scripted sessions that only tests use.
const isLeftOut = /^(?:machines\/compiled|src\/testing)\//u;
const isOwnCode = /^(?:src|machines|actors)\/.*\.ts$/u;
const isComparison = /^(?:[!=]==|[<>]=?)$/u;

// Runs in the tests' process, and records what tests execute, not what loading does: a file that does
// not load would fail any test. A broken loop may never end, which only ending the process stops.
const hook = `globalThis.$site ??= (() => {
  const { appendFileSync } = process.getBuiltinModule('node:fs');
  const { MUTANT_BROKEN: broken, MUTANT_RECORD: record } = process.env;
  const seen = new Set();
  let left = 100_000_000;
  return (id, value) => {
    if (broken !== undefined) {
      left -= 1;
      if (left === 0) process.kill(process.pid, 'SIGKILL');
      return id === Number(broken) ? !value : value;
    }
    if (globalThis.__vitest_worker__.current?.type !== 'test' || seen.has(id)) return value;
    seen.add(id);
    appendFileSync(record, id + '\\n');
    return value;
  };
})(); `.replaceAll('\n', ' ');

/** Turns the comparisons, conditions and call statements of the code into sites. */
export class Sites {
  readonly all: Site[] = [];
  readonly #loaded = new Map<string, string>();

  /** Returns the code of a file with its sites, which keep their ids. */
  load(file: string, code: string): string {
    const loaded = this.#loaded.get(file) ?? this.#withSites(file, code);
    this.#loaded.set(file, loaded);
    return loaded;
  }

  #withSites(file: string, code: string): string {
    if (code.startsWith('#!')) return code;
    const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true);
    const inserts: { at: number; text: string }[] = [];
    const visit = (node: ts.Node): void => {
      const kind = kindOf(node);
      if (kind !== undefined) {
        const at = node.getStart(source);
        const id = this.all.length;
        const line = source.getLineAndCharacterOfPosition(at).line + 1;
        const text = node.getText(source).replaceAll(/\s+/gu, ' ').slice(0, 100);
        this.all.push({ id, place: `${file}:${line}`, text });
        inserts.push({ at, text: kind === 'call' ? `$site(${id}, true) && ` : `$site(${id}, ` });
      }
      ts.forEachChild(node, visit);
      if (kind === 'condition') inserts.push({ at: node.end, text: ')' });
    };
    ts.forEachChild(source, visit);
    const ends = inserts.toSorted((one, other) => one.at - other.at);
    const parts = ends.map(({ at, text }, index) => text + code.slice(at, ends[index + 1]?.at));
    return `${hook}${code.slice(0, ends[0]?.at)}${parts.join('')}`;
  }
}

function kindOf(node: ts.Node): 'condition' | 'call' | undefined {
  const { parent } = node;
  if (ts.isIterationStatement(parent, false)) return undefined;
  if (ts.isBinaryExpression(node) && isComparison.test(node.operatorToken.getText()))
    return 'condition';
  const isTested =
    (ts.isIfStatement(parent) && parent.expression === node) ||
    (ts.isConditionalExpression(parent) && parent.condition === node);
  if (isTested) return 'condition';
  if (!ts.isExpressionStatement(node)) return undefined;
  const call = ts.isAwaitExpression(node.expression) ? node.expression.expression : node.expression;
  return ts.isCallExpression(call) && call.expression.kind !== ts.SyntaxKind.SuperKeyword
    ? 'call'
    : undefined;
}

function vitestWith(root: string, sites: Sites): Promise<Vitest> {
  const transform = (code: string, id: string): string | null => {
    const file = path.relative(root, id);
    return isOwnCode.test(file) && !isLeftOut.test(file) ? sites.load(file, code) : null;
  };
  return createVitest(
    'test',
    {
      config: false,
      root,
      watch: false,
      pool: 'forks',
      maxWorkers: 1,
      globalSetup: `${root}test/support/compiled-folder.ts`,
      // Longer than a test with real processes; one that hangs counts as killed.
      testTimeout: 30_000,
      bail: 1,
      restoreMocks: true,
      unstubEnvs: true,
      unstubGlobals: true,
      reporters: [{}],
    },
    {
      resolve: vitestConfig({ mode: 'test', command: 'serve' }).resolve ?? {},
      plugins: [{ name: 'sites', enforce: 'pre', transform }],
    },
  );
}

/** Runs the tests that rows name, with a site broken or with those recorded that they execute. */
class RowTests {
  readonly #vitest: Vitest;
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'parity-mutants-'));

  constructor(vitest: Vitest) {
    this.#vitest = vitest;
    // Outside CI, vitest writes golden files that are missing.
    process.env['CI'] = 'true';
    process.env['MUTANT_RECORD'] = path.join(this.#folder, 'executed');
  }

  /** Returns the ids of the sites that the tests execute, or why there are none. */
  async executedBy(row: ShownRow): Promise<ReadonlySet<number> | string> {
    writeFileSync(path.join(this.#folder, 'executed'), '');
    if (!(await this.#pass(row))) return 'its tests fail without any mutant';
    const text = readFileSync(path.join(this.#folder, 'executed'), 'utf8');
    const ids = new Set(text.trim().split('\n').map(Number));
    return text === '' ? 'its tests execute no code of ours in their own process' : ids;
  }

  async notice(row: ShownRow, { id }: Site): Promise<boolean> {
    process.env['MUTANT_BROKEN'] = `${id}`;
    const isNoticed = !(await this.#pass(row));
    delete process.env['MUTANT_BROKEN'];
    return isNoticed;
  }

  async #pass(row: ShownRow): Promise<boolean> {
    const project = this.#vitest.getRootProject();
    const named = testsOf(row);
    const names = named.map(({ words }) => `(?:^| )${patternOf(words)}$`);
    const testNamePattern = new RegExp(names.join('|'), 'su');
    const specifications = [...new Set(named.map(({ file }) => file))].map((file) =>
      project.createSpecification(path.join(project.config.root, file), { testNamePattern }),
    );
    const { testModules, unhandledErrors } =
      await this.#vitest.runTestSpecifications(specifications);
    return unhandledErrors.length === 0 && testModules.every((module) => module.ok());
  }

  async close(): Promise<void> {
    await this.#vitest.close();
    rmSync(this.#folder, { recursive: true });
  }
}

/** Runs `npm run mutants -- parity`; returns whether enough of the drawn rows were killed. */
export async function breakDrawnRows(root: string, args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      sample: { type: 'string', default: '60' },
      seed: { type: 'string', default: '1' },
      rows: { type: 'string', default: '' },
    },
  });
  const [sample, seed] = [Number(values.sample), Number(values.seed)];
  const startedAt = performance.now();
  const sites = new Sites();
  const tests = new RowTests(await vitestWith(root, sites));
  const covered: { row: ShownRow; name: string; ids: ReadonlySet<number> }[] = [];
  for (const row of drawnBy(seed, values.rows)) {
    if (covered.length === sample) break;
    const ids = await tests.executedBy(row);
    const name = row.cells[0] ?? '';
    if (typeof ids === 'string') console.log(`left out: ${name}, because ${ids}`);
    else covered.push({ row, name, ids });
  }
  let killedCount = 0;
  for (const { row, name, ids } of covered) {
    const { site, rowCount } = specificOf(ids, covered, sites, chanceOf(seed, ids.size));
    const isKilled = await tests.notice(row, site);
    if (isKilled) killedCount += 1;
    const where = `${site.place}: ${site.text}; executed by ${rowCount} of the rows`;
    console.log(`${isKilled ? 'killed' : 'survived'}: ${name} (${where})`);
  }
  await tests.close();
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  console.log(`${killedCount} of ${covered.length} killed in ${seconds} s`);
  return killedCount >= covered.length * leastShare;
}

/** Returns rows in an order that the seed decides, or those that are named. */
function drawnBy(seed: number, names: string): readonly ShownRow[] {
  const chosen = names.split(',').filter((name) => name !== '');
  return page
    .map((row, index) => ({ row, rank: chanceOf(seed, index) }))
    .filter(({ row }) => testsOf(row).length > 0)
    .filter(({ row }) => chosen.length === 0 || chosen.includes(row.cells[0] ?? ''))
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ row }) => row);
}

/** Returns one of the sites that the fewest rows execute. */
function specificOf(
  ids: ReadonlySet<number>,
  covered: readonly { ids: ReadonlySet<number> }[],
  sites: Sites,
  chance: number,
) {
  const countOf = (id: number): number => covered.filter((row) => row.ids.has(id)).length;
  const rowCount = Math.min(...[...ids].map(countOf));
  const rarest = [...ids]
    .filter((id) => countOf(id) === rowCount)
    .flatMap((id) => sites.all[id] ?? [])
    // Ids follow the order of loading, which differs between runs.
    .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
  const site = rarest[Math.floor(chance * rarest.length)];
  if (site === undefined) throw new Error('the tests executed no known site');
  return { site, rowCount };
}

const keyOf = ({ place, text }: Site): string => `${place} ${text}`;
