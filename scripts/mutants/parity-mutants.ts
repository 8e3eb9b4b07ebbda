/**
 * Breaks the code behind drawn rows of docs/parity.md: `npm run mutants -- parity --sample 60 --seed 1`.
 *
 * While vitest loads the code, each comparison, condition, call statement and assignment becomes a site that
 * can be broken at run time: negated, or left out. So does each transition of a chart, which is broken
 * by never being taken. The test files of a row run once to record which test executes which site.
 * Sites that all of the row's tests execute, and the fewest other tests of these files, most likely
 * belong to the row's behaviour. Some of them, chosen by the seed, are broken one at a time while the
 * row's tests run again; the row is killed once these notice a break.
 *
 * A killed row proves that its tests check something that is specific to them, not every word of the
 * row. A survivor is a row to read: its tests check too little, the sites do not belong to its
 * behaviour, or breaking them has no effect. Code that tests run in other processes has no
 * sites; a row without any is replaced by the next of the draw.
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

/** The number of a place in the code, or the text of a chart's transition. */
type SiteId = number | string;

/** A place in the code, or a transition, that can be broken. */
interface Site {
  readonly id: SiteId;
  readonly place: string;
  readonly text: string;
}

/** The sites that each test of a file executes. */
type Executions = ReadonlyMap<string, ReadonlySet<SiteId>>;

// Single survivors can be sites that have nothing to do with their row.
const leastShare = 57 / 60;

// What runs every chart, and the scripted sessions that only tests use.
const isLeftOut = /^(?:machines\/xstate|src\/testing)\//u;
const isOwnCode = /^(?:src|machines|actors)\/.*\.ts$/u;
const isComparison = /^(?:[!=]==|[<>]=?)$/u;
const checksTypesOnly = /^assertEvent\(/u;

// Where the steps of compiled charts choose a transition; XState chooses that of the other charts.
const chooser = 'machines/xstate/chart.ts';
const choice = '({ guard }) => guard === undefined || passes(guard, snapshot, event)';
const watchedChoice =
  '(it) => (it.guard === undefined || passes(it.guard, snapshot, event)) && $site.takes(it)';
const followXState =
  "\nimport { StateNode as $StateNode } from 'xstate'; $site.follow($StateNode);\n";

// Runs in the tests' process, and records what tests execute, not what loading does: a file that does
// not load would fail any test. A broken loop may never end, which only ending the process stops.
const hook = `globalThis.$site ??= (() => {
  const { appendFileSync } = process.getBuiltinModule('node:fs');
  const { MUTANT_BROKEN, MUTANT_RECORD: record } = process.env;
  const broken = MUTANT_BROKEN && JSON.parse(MUTANT_BROKEN);
  const seen = new WeakMap();
  let [lately, ids] = [];
  let left = 100_000_000;
  const site = (id, value) => {
    if (broken !== undefined) {
      left -= 1;
      if (left === 0) process.kill(process.pid, 'SIGKILL');
      return id === broken ? !value : value;
    }
    const test = globalThis.__vitest_worker__.current;
    if (test?.type !== 'test') return value;
    if (test !== lately) {
      lately = test;
      ids = seen.get(test) ?? new Set();
      seen.set(test, ids);
    }
    if (ids.has(id)) return value;
    ids.add(id);
    appendFileSync(record, JSON.stringify([id, test.name]) + '\\n');
    return value;
  };
  const texts = new WeakMap();
  const textOf = (it) => {
    const all = (it.eventType === '' ? it.source.always : it.source.transitions.get(it.eventType)) ?? [];
    return it.source.id + ' -- ' + (it.eventType || 'always') + ' #' + all.indexOf(it);
  };
  site.takes = (it) => {
    if (!texts.has(it)) texts.set(it, textOf(it));
    return site(texts.get(it), true);
  };
  site.follow = ({ prototype }) => {
    const { next } = prototype;
    if (next.isFollowed) return;
    prototype.next = function (...args) {
      const chosen = next.apply(this, args);
      return chosen === undefined || site.takes(chosen[0]) ? chosen : undefined;
    };
    prototype.next.isFollowed = true;
  };
  return site;
})(); `.replaceAll('\n', ' ');

/** Turns the comparisons, conditions, call statements and assignments of the code into sites. */
export class Sites {
  readonly all: Site[] = [];
  readonly #loaded = new Map<string, string>();

  /** Returns the code of a file with its sites, which keep their ids. */
  load(file: string, code: string): string {
    const loaded = this.#loaded.get(file) ?? this.#withSites(file, code);
    this.#loaded.set(file, loaded);
    return loaded;
  }

  /** Returns some of the sites that have these ids. */
  drawn(ids: readonly SiteId[], seed: number, count: number): readonly Site[] {
    // Ids follow the order of loading, which differs between runs.
    const found = ids.flatMap((id) =>
      typeof id === 'string' ? { id, place: 'machines', text: id } : (this.all[id] ?? []),
    );
    const sorted = found.toSorted((one, other) => (textOf(one) < textOf(other) ? -1 : 1));
    return shuffled(sorted, seed).slice(0, count);
  }

  #withSites(file: string, original: string): string {
    if (original.startsWith('#!')) return original;
    const code = withTransitions(file, original);
    if (isLeftOut.test(file)) return `${hook}${code}`;
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
        const before = kind === 'condition' ? `$site(${id}, ` : `$site(${id}, true) && (`;
        inserts.push({ at, text: before });
      }
      ts.forEachChild(node, visit);
      if (kind !== undefined) inserts.push({ at: node.end, text: ')' });
    };
    ts.forEachChild(source, visit);
    const ends = inserts.toSorted((one, other) => one.at - other.at);
    const parts = ends.map(({ at, text }, index) => text + code.slice(at, ends[index + 1]?.at));
    return `${hook}${code.slice(0, ends[0]?.at)}${parts.join('')}`;
  }
}

/** Makes the transitions of charts sites. */
function withTransitions(file: string, code: string): string {
  if (file === chooser) {
    if (!code.includes(choice))
      throw new Error(`${file} no longer chooses transitions by ${choice}`);
    return code.replace(choice, watchedChoice);
  }
  return file.startsWith('machines/') && code.includes('.createMachine(')
    ? `${code}${followXState}`
    : code;
}

const textOf = ({ place, text }: Site): string => `${place}: ${text}`;

function kindOf(node: ts.Node): 'condition' | 'statement' | undefined {
  const { parent } = node;
  if (ts.isIterationStatement(parent, false)) return undefined;
  if (ts.isBinaryExpression(node) && isComparison.test(node.operatorToken.getText()))
    return 'condition';
  const isTested =
    (ts.isIfStatement(parent) && parent.expression === node) ||
    (ts.isConditionalExpression(parent) && parent.condition === node);
  if (isTested) return 'condition';
  const isStatement =
    ts.isExpressionStatement(parent) && !ts.isIterationStatement(parent.parent, false);
  return isStatement && isCallOrAssignment(node) ? 'statement' : undefined;
}

function isCallOrAssignment(node: ts.Node): boolean {
  const made = ts.isAwaitExpression(node) ? node.expression : node;
  if (ts.isCallExpression(made))
    return (
      made.expression.kind !== ts.SyntaxKind.SuperKeyword && !checksTypesOnly.test(made.getText())
    );
  return ts.isBinaryExpression(made) && made.operatorToken.kind === ts.SyntaxKind.EqualsToken;
}

function vitestWith(root: string, sites: Sites): Promise<Vitest> {
  const transform = (code: string, id: string): string | null => {
    const file = path.relative(root, id);
    const isWanted = file === chooser || !isLeftOut.test(file);
    return isOwnCode.test(file) && isWanted ? sites.load(file, code) : null;
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
  readonly #executed = new Map<string, Executions>();

  constructor(vitest: Vitest) {
    this.#vitest = vitest;
    // Outside CI, vitest writes golden files that are missing.
    process.env['CI'] = 'true';
    process.env['MUTANT_RECORD'] = path.join(this.#folder, 'executed');
  }

  /** Returns the ids of at least so many sites that most likely belong to a row, or why there are none. */
  async specificTo(row: ShownRow, breaks: number): Promise<readonly SiteId[] | string> {
    if (!(await this.#pass(row))) return 'its tests fail without any mutant';
    const named = testsOf(row);
    const files = [...new Set(named.map(({ file }) => file))];
    const executed = new Map<string, Executions>();
    for (const file of files) executed.set(file, await this.#executedIn(file));
    const isOf = ({ file, title }: (typeof named)[number], at: string, test: string): boolean =>
      file === at && title.test(test);
    const sitesOf = (isWanted: (file: string, test: string) => boolean) =>
      files.flatMap((file) =>
        [...(executed.get(file) ?? [])].flatMap(([test, ids]) =>
          isWanted(file, test) ? [ids] : [],
        ),
      );
    const own = named.map((each) => sitesOf((file, test) => isOf(each, file, test)));
    const others = sitesOf((file, test) => !named.some((each) => isOf(each, file, test)));
    const likeliest = likeliestSites(own, others, breaks);
    return likeliest.length > 0
      ? likeliest
      : 'its tests execute no code of ours in their own process';
  }

  async #executedIn(file: string): Promise<Executions> {
    const known = this.#executed.get(file);
    if (known !== undefined) return known;
    const record = path.join(this.#folder, 'executed');
    writeFileSync(record, '');
    await this.#run([file]);
    const lines = readFileSync(record, 'utf8').trim().split('\n');
    const executed = new Map<string, Set<SiteId>>();
    for (const line of lines.filter(Boolean)) {
      const [id, test] = JSON.parse(line) as [SiteId, string];
      executed.set(test, (executed.get(test) ?? new Set()).add(id));
    }
    this.#executed.set(file, executed);
    return executed;
  }

  async notice(row: ShownRow, { id }: Site): Promise<boolean> {
    process.env['MUTANT_BROKEN'] = JSON.stringify(id);
    const isNoticed = !(await this.#pass(row));
    delete process.env['MUTANT_BROKEN'];
    return isNoticed;
  }

  #pass(row: ShownRow): Promise<boolean> {
    const named = testsOf(row);
    const names = named.map(({ words }) => `(?:^| )${patternOf(words)}$`);
    const files = new Set(named.map(({ file }) => file));
    return this.#run([...files], { testNamePattern: new RegExp(names.join('|'), 'su') });
  }

  async #run(files: readonly string[], options: { testNamePattern?: RegExp } = {}) {
    const project = this.#vitest.getRootProject();
    const modules = files.map((file) => path.join(project.config.root, file));
    const run = await this.#vitest.runTestSpecifications(
      modules.map((module) => project.createSpecification(module, options)),
    );
    // The result includes modules of earlier runs.
    const own = run.testModules.filter(({ moduleId }) => modules.includes(moduleId));
    return run.unhandledErrors.length === 0 && own.every((module) => module.ok());
  }

  async close(): Promise<void> {
    await this.#vitest.close();
    rmSync(this.#folder, { recursive: true });
  }
}

/**
 * Returns the sites that the greatest share of a row's tests executes beyond the share of other tests: at
 * least so many, and more if they are equal.
 *
 * @param own - for each test that the row names, the sites of its cases
 */
export function likeliestSites(
  own: readonly (readonly ReadonlySet<SiteId>[])[],
  others: readonly ReadonlySet<SiteId>[],
  count: number,
): readonly SiteId[] {
  const shareIn = (tests: readonly ReadonlySet<SiteId>[], id: SiteId): number =>
    tests.length === 0 ? 0 : tests.filter((ids) => ids.has(id)).length / tests.length;
  const ids = new Set(own.flat().flatMap((each) => [...each]));
  const scores = new Map<SiteId, number>();
  for (const id of ids) {
    const ownShare = own.reduce((sum, cases) => sum + shareIn(cases, id), 0) / own.length;
    scores.set(id, ownShare - shareIn(others, id));
  }
  const least = [...scores.values()].toSorted((one, other) => other - one)[count - 1] ?? -1;
  return [...scores].flatMap(([id, score]) => (score >= least ? [id] : []));
}

/** Runs `npm run mutants -- parity`; returns whether enough of the drawn rows were killed. */
export async function breakDrawnRows(root: string, args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      sample: { type: 'string', default: '60' },
      seed: { type: 'string', default: '1' },
      breaks: { type: 'string', default: '5' },
      rows: { type: 'string', default: '' },
    },
  });
  const [seed, breaks] = [Number(values.seed), Number(values.breaks)] as const;
  const startedAt = performance.now();
  const sites = new Sites();
  const tests = new RowTests(await vitestWith(root, sites));
  let rowCount = 0;
  let killedCount = 0;
  for (const row of drawnBy(seed, values.rows)) {
    if (rowCount === Number(values.sample)) break;
    const ids = await tests.specificTo(row, breaks);
    const name = row.cells[0] ?? '';
    if (typeof ids === 'string') {
      console.log(`left out: ${name}, because ${ids}`);
      continue;
    }
    rowCount += 1;
    const missed: string[] = [];
    let noticed: Site | undefined;
    for (const site of sites.drawn(ids, seed, breaks)) {
      if (await tests.notice(row, site)) noticed = site;
      else missed.push(textOf(site));
      if (noticed !== undefined) break;
    }
    if (noticed !== undefined) killedCount += 1;
    const outcome = noticed === undefined ? 'survived' : `killed by ${textOf(noticed)}`;
    console.log([`${name}: ${outcome}`, ...missed].join('\n  not by '));
  }
  await tests.close();
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  console.log(`${killedCount} of ${rowCount} killed in ${seconds} s`);
  return killedCount >= rowCount * leastShare;
}

/** Returns rows in an order that the seed decides, or those that are named. */
function drawnBy(seed: number, names: string): readonly ShownRow[] {
  const chosen = names.split(',').filter((name) => name !== '');
  const rows = page.filter((row) => testsOf(row).length > 0);
  const isChosen = ({ cells }: ShownRow): boolean =>
    chosen.length === 0 || chosen.includes(cells[0] ?? '');
  return shuffled(rows, seed).filter(isChosen);
}

function shuffled<T>(all: readonly T[], seed: number): readonly T[] {
  return all
    .map((each, index) => ({ each, rank: chanceOf(seed, index) }))
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ each }) => each);
}
