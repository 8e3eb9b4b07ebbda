/**
 * TOML as a tree that knows the line of every key. The package `smol-toml` reads
 * the values; the lines, which it does not tell, are found by a walk over a text that
 * it has found valid.
 */

import { parse, TomlDate, TomlError } from 'smol-toml';

import { lineFinder, type TreeNode, type TreeReading } from '../settings-tree.ts';
import { excessOf, maxDepth, TreeLimit, tomlText, tooDeepMessage } from '../text-bounds.ts';
import { type TomlPlace, tomlPlaces } from './toml-places.ts';

export function readTomlTree(body: string): TreeReading {
  const faultAt = (line: number, message: string): TreeReading => ({
    fault: { line, path: [], message },
  });
  const excess = excessOf(body, 'toml', tomlText);
  if (excess !== undefined) return faultAt(lineFinder(body)(excess.offset), excess.message);
  try {
    const value = parse(body, { maxDepth, integersAsBigInt: 'asNeeded' });
    return { root: treeOf(value, tomlPlaces(body), 1, 0) };
  } catch (error) {
    if (error instanceof TreeLimit) return faultAt(error.line, error.message);
    if (!(error instanceof TomlError)) throw error;
    return faultAt(error.line, 'the text is not valid TOML; fix it here or just above');
  }
}

function treeOf(
  value: unknown,
  place: TomlPlace | undefined,
  inherited: number,
  depth: number,
): TreeNode {
  // Nodes inside a value get the line of the key that has the value.
  const line = place?.line ?? inherited;
  if (depth > maxDepth) throw new TreeLimit(tooDeepMessage, line);
  if (Array.isArray(value)) {
    const items = value.map((item: unknown, index) =>
      treeOf(item, place?.below.get(index), line, depth + 1),
    );
    return { kind: 'array', line, items };
  }
  if (typeof value === 'object' && value !== null && !(value instanceof TomlDate)) {
    const members = Object.entries(value).map(([name, content]) => {
      const node = treeOf(content, place?.below.get(name), line, depth + 1);
      return { name, line: node.line, node };
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
