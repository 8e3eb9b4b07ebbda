import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const shipped = ['actors', 'src', 'visualizations/server'];
/** What sets a timer, by the name under which it is exported. */
const setters = new Set(['setTimeout', 'setInterval', 'startDeadline', 'pause']);
/** Other functions have this name, too. */
const ofTimeLimit = 'pause';

describe('the list of timers outside charts', () => {
  it('has every file that sets one, and how many', () => {
    const files = shipped.flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => path.posix.join(folder, ...name.split(path.sep))),
    );
    const found = files.map((file) => [file, timersIn(file)] as const);
    const listed = rows().map(({ file, count }) => [file, count]);
    expect(Object.fromEntries(listed)).toEqual(
      Object.fromEntries(found.filter(([, count]) => count > 0)),
    );
  });

  it('says of each why it decides nothing', () => {
    const kinds = /^(?:limit|pace|tool)\b/u;
    expect(rows().filter(({ reason }) => !kinds.test(reason))).toEqual([]);
  });
});

function rows() {
  const text = readFileSync(path.join(root, 'docs/decisions/timers.md'), 'utf8');
  const cells = /^\| `(?<file>[^`]+)` \| (?<count>\d+) \| [^|]+ \| (?<reason>[^|]+) \|$/gmu;
  return [...text.matchAll(cells)].map(
    ({ groups: { file = '', count = '', reason = '' } = {} }) => ({
      file,
      count: Number(count),
      reason,
    }),
  );
}

/** Counts the calls that set a timer, under whatever name it was imported. */
function timersIn(file: string): number {
  const text = readFileSync(path.join(root, file), 'utf8');
  if (!/set(?:Timeout|Interval)|startDeadline|time-limit|AbortSignal\.timeout/u.test(text))
    return 0;
  const imported = new Map<string, string>();
  let count = 0;
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) noteImports(node, imported);
    if (ts.isCallExpression(node) && isSetter(node.expression, imported)) count += 1;
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest));
  return count;
}

function noteImports(node: ts.ImportDeclaration, imported: Map<string, string>): void {
  const bindings = node.importClause?.namedBindings;
  if (bindings === undefined || !ts.isNamedImports(bindings)) return;
  const isTimeLimit = (node.moduleSpecifier as ts.StringLiteral).text.endsWith('/time-limit.ts');
  for (const { name, propertyName = name } of bindings.elements) {
    const isOther = propertyName.text === ofTimeLimit && !isTimeLimit;
    imported.set(name.text, isOther ? '' : propertyName.text);
  }
}

function isSetter(callee: ts.Expression, imported: ReadonlyMap<string, string>): boolean {
  if (ts.isIdentifier(callee)) {
    const { text } = callee;
    return setters.has(imported.get(text) ?? (text === ofTimeLimit ? '' : text));
  }
  if (!ts.isPropertyAccessExpression(callee)) return false;
  const { expression: of, name } = callee;
  if (ts.isIdentifier(of) && of.text === 'AbortSignal') return name.text === 'timeout';
  return name.text !== ofTimeLimit && setters.has(name.text);
}
