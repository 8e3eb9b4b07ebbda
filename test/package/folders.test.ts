import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { codeLines, folderOf } from '../../scripts/code-lines.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
// Each is a state without a name; two in one class may be a state that nothing draws.
const mostFlags = 40;
// A reader cannot take in more at a glance.
const mostFiles = 25;
const mostLongFiles = 24;
// Regions of charts, platforms, formats, what loads late or has tests of its own, and parts of long files.
const mostPieces = 45;
const others = new Set(['node_modules', 'dist', 'coverage']);

describe('the repository', () => {
  it('has at most 25 files in each folder', () => {
    const crowded = foldersIn('').filter(({ files }) => files.length > mostFiles);
    expect(crowded).toEqual([]);
  });

  it('keeps each folder within its ceiling, which a commit raises with a reason', () => {
    const ceilings = JSON.parse(text('scripts/ceilings.json')) as Readonly<Record<string, number>>;
    const sums: Record<string, number> = {};
    for (const { folder, files } of foldersIn('')) {
      for (const file of files.filter(isCode)) {
        const place = path.posix.join(folder, file);
        sums[folderOf(place)] = (sums[folderOf(place)] ?? 0) + codeLines(place, text(place));
      }
    }
    expect(Object.keys(sums).sort()).toEqual(Object.keys(ceilings).sort());
    const above = Object.entries(sums).filter(([name, lines]) => lines > (ceilings[name] ?? 0));
    expect(above).toEqual([]);
  });

  it('has few files that a reader has to scroll through for long', () => {
    // Without comments and blank lines: a file is not long because it is explained.
    const long = productFiles().filter((place) => {
      const content = text(place);
      return content.split('\n').length > 300 && codeLines(place, content) > 300;
    });
    expect(long.length).toBeLessThanOrEqual(mostLongFiles);
  });

  it('needs at most 28 files, one importing the next, from its entry to its last file', () => {
    const chains = new Map<string, readonly string[]>();
    const longestFrom = (place: string): readonly string[] => {
      const known = chains.get(place);
      if (known !== undefined) return known;
      const below = importsOf(place).map(longestFrom);
      const chain = [
        place,
        ...below.reduce((one, next) => (next.length > one.length ? next : one), []),
      ];
      chains.set(place, chain);
      return chain;
    };
    const chain = longestFrom('src/index.ts');
    expect(chain.length).toBeGreaterThan(10);
    expect(chain.slice(28)).toEqual([]);
  });

  it('keeps at most 40 booleans as mutable fields of classes', () => {
    const flags = productFiles().flatMap((place) =>
      flagsIn(ts.createSourceFile(place, text(place), ts.ScriptTarget.Latest)).map(
        (name) => `${place}: ${name}`,
      ),
    );
    expect(flags).toContain('actors/processes/guardian.ts: #isOver');
    expect(flags.slice(mostFlags)).toEqual([]);
  });

  it('has few small files that only one other file of their folder imports', () => {
    const files = productFiles();
    const importers = new Map(files.map((place) => [place, [] as string[]]));
    for (const place of files)
      for (const name of importsOf(place)) importers.get(name)?.push(path.posix.dirname(place));
    const pieces = [...importers].filter(([place, [folder, ...more]]) => {
      const isBeside = more.length === 0 && path.posix.dirname(place) === folder;
      return isBeside && codeLines(place, text(place)) < 100;
    });
    expect(pieces.map(([place]) => place).slice(mostPieces)).toEqual([]);
  });

  it('has at most 14 classes of errors, each with a name of its own', () => {
    const classes = productFiles()
      .flatMap((place) => [...text(place).matchAll(/\bclass (\w+) extends (\w+)/gu)])
      .map(([, name = '', parent = '']) => ({ name, parent }));
    const parents = new Map(classes.map(({ name, parent }) => [name, parent]));
    const isError = (name = ''): boolean =>
      /^(?:Type|Range|Syntax)?Error$/u.test(name) ||
      (parents.has(name) && isError(parents.get(name)));
    const own = classes.filter(({ parent }) => isError(parent)).map(({ name }) => name);
    expect(own.length).toBeLessThanOrEqual(14);
    expect(new Set(own).size).toBe(own.length);
  });
});

/** Declarations of other code's types do not count. */
function isCode(name: string): boolean {
  return /\.(?:[cm]?[jt]sx?)$/u.test(name) && !name.endsWith('.d.ts');
}

function productFiles(): readonly string[] {
  const places = ['src', 'actors', 'machines', 'visualizations'].flatMap(foldersIn);
  return places.flatMap(({ folder, files }) =>
    files.filter((name) => /\.tsx?$/u.test(name)).map((name) => path.posix.join(folder, name)),
  );
}

/** The fields of a file's classes that are named like booleans and can change. */
function flagsIn(source: ts.SourceFile): readonly string[] {
  const members = source.statements.flatMap((statement) =>
    ts.isClassDeclaration(statement) ? statement.members : [],
  );
  return members.flatMap((member) => {
    if (!ts.isPropertyDeclaration(member)) return [];
    const name = member.name.getText(source);
    const isFixed = member.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ReadonlyKeyword);
    return /^#?(?:is|has|was|may)[A-Z]/u.test(name) && isFixed !== true ? [name] : [];
  });
}

/** The files that a file imports when it is loaded or for its types, without packages. */
function importsOf(place: string): readonly string[] {
  const { statements } = ts.createSourceFile(place, text(place), ts.ScriptTarget.Latest);
  const names = statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const { moduleSpecifier: name } = statement;
    return name !== undefined && ts.isStringLiteral(name) ? name.text : [];
  });
  const here = path.posix.dirname(place);
  return names.filter((name) => name.startsWith('.')).map((name) => path.posix.join(here, name));
}

function text(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

/** Hidden folders belong to tools. */
function foldersIn(
  folder: string,
): readonly { readonly folder: string; readonly files: readonly string[] }[] {
  const entries = readdirSync(path.join(root, folder), { withFileTypes: true });
  const below = entries.filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith('.') && !others.has(entry.name),
  );
  return [
    { folder, files: entries.filter((entry) => entry.isFile()).map(({ name }) => name) },
    ...below.flatMap(({ name }) => foldersIn(path.posix.join(folder, name))),
  ];
}
