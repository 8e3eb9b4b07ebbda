/** Runs tests that the inspector exports as text. */

import ts from 'typescript';
import { expect } from 'vitest';
import * as testing from '../../../src/testing/index.ts';

/** Runs the text of an exported test, with our own sources behind the name of the package; returns its name. */
export async function runExported(text: string): Promise<string> {
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.CommonJS },
  });
  const tests: (readonly [string, () => Promise<void>])[] = [];
  const note = (name: string, body: () => Promise<void>): void => {
    tests.push([name, body]);
  };
  const packages: Readonly<Record<string, object>> = {
    'mcp-troupe/testing': testing,
    vitest: { expect, it: note },
  };
  // oxlint-disable-next-line typescript/no-implied-eval -- what is tested is a text that is a program
  const load = new Function('require', 'exports', outputText);
  load((name: string) => packages[name], {});
  const [test] = tests;
  if (test === undefined) throw new Error('the text holds no test');
  const [name, body] = test;
  await body();
  return name;
}
