/**
 * TOML as a tree with the line of every key.
 *
 * The package `smol-toml` reads the values but reports no positions. A scan of the text,
 * once it is known to be valid, finds the line of every table header and key; values
 * inside a value get the line of its key. The scan is linear in the text's length.
 */

import { parse, TomlDate, TomlError } from 'smol-toml';

import { lineFinder, type TreeNode, type TreeReading } from '../settings-tree.ts';
import {
  endInToml,
  excessOf,
  maxDepth,
  TreeLimit,
  tomlText,
  tooDeepMessage,
} from '../text-bounds.ts';

export function readTomlTree(body: string): TreeReading {
  const faultAt = (line: number, message: string): TreeReading => ({
    fault: { line, path: [], message },
  });
  const excess = excessOf(body, 'toml', tomlText);
  if (excess !== undefined) return faultAt(lineFinder(body)(excess.offset), excess.message);
  try {
    const value = parse(body, { maxDepth, integersAsBigInt: 'asNeeded' });
    return { root: treeOf(value, placesIn(body), 1, 0) };
  } catch (error) {
    if (error instanceof TreeLimit) return faultAt(error.line, error.message);
    if (!(error instanceof TomlError)) throw error;
    return faultAt(error.line, 'the text is not valid TOML; fix it here or just above');
  }
}

function treeOf(
  value: unknown,
  place: Place | undefined,
  inherited: number,
  depth: number,
): TreeNode {
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

interface Place {
  /** 1-based. */
  readonly line: number;
  /** By name of key or table, and by number of a table in its list. */
  readonly below: Map<string | number, Place>;
  /** Number of the list's tables so far; 0 = this is not a list. */
  tableCount: number;
}

/** @throws TreeLimit for a key with more parts than settings may be deep. */
function placesIn(text: string): Place {
  const lineOf = lineFinder(text);
  const root: Place = { line: 1, below: new Map(), tableCount: 0 };
  let table = root;
  for (let at = endOfBlank(text, 0); at < text.length; at = endOfBlank(text, at)) {
    const line = lineOf(at);
    const brackets = endOf(/\[*/y, text, at) - at;
    const { path, end } = keyAt(text, at + brackets, line);
    if (brackets === 0) {
      follow(table, path, line);
      at = endOfValue(text, end);
      continue;
    }
    at = end + brackets;
    if (brackets === 1) table = follow(root, path, line);
    else {
      const list = step(follow(root, path.slice(0, -1), line), path.at(-1) ?? '', line);
      table = step(list, list.tableCount, line);
      list.tableCount += 1;
    }
  }
  return root;
}

function keyAt(text: string, start: number, line: number): { path: string[]; end: number } {
  const path: string[] = [];
  let end = start - 1;
  do {
    const at = endOf(/[ \t]*/y, text, end + 1);
    end = endInToml(text, at) ?? endOf(/[\w-]*/y, text, at);
    path.push(nameOf(text.slice(at, end)));
    if (path.length > maxDepth) throw new TreeLimit(tooDeepMessage, line);
    end = endOf(/[ \t]*/y, text, end);
  } while (text[end] === '.');
  return { path, end };
}

/** Returns the name in a key, or in one part of a dotted key. */
function nameOf(written: string): string {
  const [name = ''] = Object.keys(parse(`${written} = 0`));
  return name;
}

function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; ) {
    const char = text[at] ?? '';
    if (depth === 0 && (char === '\n' || char === '#')) return at;
    if (char === '[' || char === '{') depth += 1;
    if (char === ']' || char === '}') depth -= 1;
    at = endInToml(text, at) ?? at + 1;
  }
  return text.length;
}

/** Skips blanks, line ends and comments. */
function endOfBlank(text: string, start: number): number {
  let at = endOf(/\s*/y, text, start);
  while (text[at] === '#') at = endOf(/\s*/y, text, endInToml(text, at) ?? at);
  return at;
}

function endOf(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  pattern.test(text);
  return pattern.lastIndex;
}

/** Follows a dotted path and creates missing places; in a list it takes the last table. */
function follow(from: Place, path: readonly string[], line: number): Place {
  let place = from;
  for (const name of path) {
    place = step(place, name, line);
    if (place.tableCount > 0) place = step(place, place.tableCount - 1, line);
  }
  return place;
}

function step(from: Place, name: string | number, line: number): Place {
  const known = from.below.get(name);
  if (known !== undefined) return known;
  const made: Place = { line, below: new Map(), tableCount: 0 };
  from.below.set(name, made);
  return made;
}
