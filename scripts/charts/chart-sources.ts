/**
 * Finds states, transitions, guards, actions and delays in the sources, with their comments. A
 * running chart has neither, so this reads the syntax of the files.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import type { AnyStateNode } from 'xstate';

import type { NamedFacts, Place } from '../../visualizations/page/model/chart-facts.ts';

// Longer code is cut off.
const longestCode = 600;

/** All top-level declarations of a folder, by name; names are unique among charts. */
export class ChartSources {
  readonly #declared = new Map<string, ts.Expression>();

  constructor(root: string, folder = 'machines') {
    const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
    for (const name of names.sort()) {
      if (!name.endsWith('.ts')) continue;
      const path = `${folder}/${name}`;
      const text = readFileSync(join(root, path), 'utf8');
      const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
      for (const statement of file.statements) this.#noteStatement(statement);
    }
  }

  /** The expression of a state; undefined if it is computed. */
  stateSource(chart: string, state: AnyStateNode): ts.Expression | undefined {
    const root = this.#declared.get(chart);
    return state.path.reduce<ts.Expression | undefined>((parent, key) => {
      const states = this.member(parent, 'states');
      return states === undefined ? undefined : this.member(states, key);
    }, root);
  }

  /** The value of a key of an object, through spreads, names and the calls that wrap it. */
  member(holder: ts.Expression | undefined, key: string): ts.Expression | undefined {
    const object = this.#objectOf(holder);
    // The last one wins, as it does when the code runs.
    for (const property of [...(object?.properties ?? [])].reverse()) {
      if (ts.isSpreadAssignment(property)) {
        const found = this.member(property.expression, key);
        if (found !== undefined) return found;
      } else if (property.name !== undefined && nameOf(property.name) === key) {
        if (ts.isPropertyAssignment(property)) return property.initializer;
        if (ts.isShorthandPropertyAssignment(property)) return this.#declared.get(key);
      }
    }
    return undefined;
  }

  /** One transition of a trigger: a single one, an element of a list, or a reference to either. */
  transition(written: ts.Expression | undefined, place: number): ts.Expression | undefined {
    if (written === undefined) return undefined;
    if (ts.isAsExpression(written) || ts.isSatisfiesExpression(written)) {
      return this.transition(written.expression, place);
    }
    const declared = this.#declarationOf(written);
    if (declared !== undefined) return this.transition(declared, place);
    return ts.isArrayLiteralExpression(written)
      ? this.transition(written.elements[place], 0)
      : written;
  }

  /** The `guards`, `actions` or `delays` of a chart's setup, by name. */
  named(
    chart: string,
    part: 'actions' | 'delays' | 'guards',
  ): Readonly<Record<string, NamedFacts>> {
    const setups = this.#setupsFrom(calleeOf(this.#declared.get(chart)));
    const parts = setups.map((each) => this.#objectOf(this.member(each, part)));
    return Object.fromEntries(
      parts
        .flatMap((object) => [...(object?.properties ?? [])])
        .flatMap((property) => {
          if (property.name === undefined) return [];
          const doc = commentOf(property);
          const source = {
            ...placeOf(property),
            ...(doc === undefined ? {} : { doc }),
            code: codeOf(property),
          };
          return [[nameOf(property.name), source] as const];
        }),
    );
  }

  /** Resolves a name, or a key of a named object. */
  #declarationOf(expression: ts.Expression): ts.Expression | undefined {
    if (ts.isIdentifier(expression)) return this.#declared.get(expression.text);
    if (!ts.isPropertyAccessExpression(expression)) return undefined;
    return this.member(expression.expression, expression.name.text);
  }

  /** A setup, and those that it extends, which come first. */
  #setupsFrom(setup: ts.Expression | undefined): readonly ts.Expression[] {
    if (setup === undefined) return [];
    const written = ts.isIdentifier(setup) ? this.#declared.get(setup.text) : setup;
    return [...this.#setupsFrom(calleeOf(written)), ...(written === undefined ? [] : [written])];
  }

  #noteStatement(statement: ts.Statement): void {
    if (ts.isFunctionDeclaration(statement)) {
      const [only] = statement.body?.statements ?? [];
      const made = only !== undefined && ts.isReturnStatement(only) ? only.expression : undefined;
      if (statement.name !== undefined && made !== undefined && ts.isCallExpression(made))
        this.#declared.set(statement.name.text, made);
    }
    if (!ts.isVariableStatement(statement)) return;
    for (const { name, initializer } of statement.declarationList.declarations) {
      if (ts.isIdentifier(name) && initializer !== undefined) {
        this.#declared.set(name.text, initializer);
      }
    }
  }

  #objectOf(expression: ts.Expression | undefined): ts.ObjectLiteralExpression | undefined {
    if (expression === undefined) return undefined;
    if (ts.isObjectLiteralExpression(expression)) return expression;
    if (ts.isAsExpression(expression) || ts.isSatisfiesExpression(expression)) {
      return this.#objectOf(expression.expression);
    }
    if (ts.isParenthesizedExpression(expression)) return this.#objectOf(expression.expression);
    if (ts.isCallExpression(expression)) {
      const { expression: callee, arguments: given } = expression;
      // A function that returns one of the others: `setup({…})`, `x.createMachine({…})`, `x.createStateConfig({…})`.
      const made = ts.isIdentifier(callee) ? this.#declared.get(callee.text) : undefined;
      return this.#objectOf(made ?? given[0]);
    }
    if (ts.isIdentifier(expression)) return this.#objectOf(this.#declared.get(expression.text));
    return undefined;
  }
}

/** The `x` in `x.createMachine({…})` and in `x.extend({…})`. */
function calleeOf(call: ts.Expression | undefined): ts.Expression | undefined {
  const callee = call !== undefined && ts.isCallExpression(call) ? call.expression : undefined;
  return callee !== undefined && ts.isPropertyAccessExpression(callee)
    ? callee.expression
    : undefined;
}

export function placeOf(node: ts.Node): Place {
  const file = node.getSourceFile();
  const { line } = file.getLineAndCharacterOfPosition(node.getStart());
  return { file: file.fileName, line: line + 1 };
}

/** The comment before a property, without delimiters and line breaks. */
export function commentOf(node: ts.Node): string | undefined {
  const text = node.getSourceFile().text;
  const ranges = ts.getLeadingCommentRanges(text, node.getFullStart()) ?? [];
  const words = ranges
    .map(({ pos, end }) => text.slice(pos, end))
    .flatMap((comment) => comment.replace(/^\/\*\*?|\*\/$/g, '').split('\n'))
    .map((line) => line.replace(/^\s*(?:\/\/|\*)?\s*/, '').trim())
    .filter((line) => line !== '');
  return words.length === 0 ? undefined : words.join(' ');
}

function nameOf(name: ts.PropertyName): string {
  return ts.isIdentifier(name) || ts.isStringLiteralLike(name) ? name.text : name.getText();
}

function codeOf(node: ts.Node): string {
  const column = node.getSourceFile().getLineAndCharacterOfPosition(node.getStart()).character;
  const code = node.getText().replaceAll(`\n${' '.repeat(column)}`, '\n');
  return code.length <= longestCode ? code : `${code.slice(0, longestCode)}\n…`;
}
