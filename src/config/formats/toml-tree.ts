/**
 * TOML as a tree that knows the line of every key. The package `smol-toml` reads
 * the values; the lines, which it does not tell, are found by a walk over a text that
 * it has found valid.
 */

import { parse, TomlDate, TomlError } from 'smol-toml';

import { maxDepth, type TreeNode, type TreeReading, tooDeepMessage } from '../settings-tree.ts';
import { tomlLines } from './toml-lines.ts';

export function readTomlTree(body: string): TreeReading {
  try {
    const value = parse(body, { maxDepth, integersAsBigInt: 'asNeeded' });
    const lines = tomlLines(body);
    return { root: treeOf(value, [], 1, lines) };
  } catch (error) {
    if (error instanceof TomlError) {
      // The reader has one kind of error for both, and its own bound for what nests in a value.
      const message = error.message.includes('nested')
        ? tooDeepMessage
        : 'the text is not valid TOML; mend it here or just above';
      return { fault: { line: error.line, path: [], message } };
    }
    // For a dotted key the reader calls itself once for each part, without a bound.
    if (error instanceof RangeError)
      return { fault: { line: 1, path: [], message: tooDeepMessage } };
    throw error;
  }
}

function treeOf(
  value: unknown,
  path: readonly (string | number)[],
  line: number,
  lines: ReadonlyMap<string, number>,
): TreeNode {
  if (path.length > maxDepth) throw new RangeError(tooDeepMessage);
  const lineAt = (below: readonly (string | number)[]) => lines.get(JSON.stringify(below)) ?? line;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown, index) => {
      const below = [...path, index];
      return treeOf(item, below, lineAt(below), lines);
    });
    return { kind: 'array', line, items };
  }
  if (typeof value === 'object' && value !== null && !(value instanceof TomlDate)) {
    const members = Object.entries(value).map(([name, content]) => {
      const below = [...path, name];
      const at = lineAt(below);
      return { name, line: at, node: treeOf(content, below, at, lines) };
    });
    return { kind: 'object', line, members };
  }
  return { kind: 'scalar', line, value: plainValue(value) };
}

function plainValue(value: unknown): string | number | boolean {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value;
  return value instanceof TomlDate ? value.toISOString() : String(value);
}
