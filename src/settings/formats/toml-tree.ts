/**
 * TOML as a tree with the line of every key.
 *
 * The package `smol-toml` reads the values but reports no positions. A scan of the text,
 * once it is known to be valid, finds the line of every table header and key; values
 * inside a value get the line of its key. It also finds numbers and dates that JavaScript would
 * write differently: with quotes around them, the text is read again for how they are written. The
 * scan is linear in the text's length.
 */

import { parse, TomlDate, TomlError } from 'smol-toml';

import { lineFinder, scalar, type TreeNode, type TreeReading } from '../settings-tree.ts';
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
    const { root, words } = placesIn(body);
    const written = words.length === 0 ? value : parse(quoted(body, words), { maxDepth });
    return { root: treeOf(value, written, root, 1, 0) };
  } catch (error) {
    if (error instanceof TreeLimit) return faultAt(error.line, error.message);
    if (!(error instanceof TomlError)) throw error;
    return faultAt(error.line, 'the text is not valid TOML; fix it here or just above');
  }
}

/** @param written - the same value, with such numbers and dates as text */
function treeOf(
  value: unknown,
  written: unknown,
  place: Place | undefined,
  inherited: number,
  depth: number,
): TreeNode {
  const line = place?.line ?? inherited;
  if (depth > maxDepth) throw new TreeLimit(tooDeepMessage, line);
  if (Array.isArray(value)) {
    const items = value.map((item: unknown, index) =>
      treeOf(item, partOf(written, index), place?.below.get(index), line, depth + 1),
    );
    return { kind: 'array', line, items };
  }
  if (typeof value === 'object' && value !== null && !(value instanceof TomlDate)) {
    const members = Object.entries(value).map(([name, content]) => {
      const below = place?.below.get(name);
      const node = treeOf(content, partOf(written, name), below, line, depth + 1);
      return { name, line: node.line, node };
    });
    return { kind: 'object', line, members };
  }
  const isPlain = ['string', 'number', 'boolean'].includes(typeof value);
  // Dates and large integers become text.
  return scalar(line, (isPlain ? value : written) as string | number | boolean, String(written));
}

function partOf(holder: unknown, key: string | number): unknown {
  return (holder as Readonly<Record<string | number, unknown>>)[key];
}

/** Puts quotes around each word of a string. */
function quoted(text: string, words: readonly Word[]): string {
  let from = 0;
  const parts = words.map(({ start, end }) => {
    const part = `${text.slice(from, start)}"${text.slice(start, end)}"`;
    from = end;
    return part;
  });
  return [...parts, text.slice(from)].join('');
}

/** Where a value without quotes is in the text, if JavaScript would write it differently. */
interface Word {
  readonly start: number;
  readonly end: number;
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
function placesIn(text: string): { readonly root: Place; readonly words: readonly Word[] } {
  const lineOf = lineFinder(text);
  const root: Place = { line: 1, below: new Map(), tableCount: 0 };
  const words: Word[] = [];
  let table = root;
  for (let at = endOfBlank(text, 0); at < text.length; at = endOfBlank(text, at)) {
    const line = lineOf(at);
    const brackets = endOf(/\[*/y, text, at) - at;
    const { path, end } = keyAt(text, at + brackets, line);
    if (brackets === 0) {
      follow(table, path, line);
      at = endOfValue(text, end, words);
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
  return { root, words };
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

// A blank may separate a date and its time.
const wordPattern = /(?:\d{4}-\d\d-\d\d (?=\d))?[\w.+:-]*/y;

/** Adds to `words` those of the value that JavaScript would write differently. */
function endOfValue(text: string, start: number, words: Word[]): number {
  const brackets: string[] = [];
  // In a list each word is a value, and in a table what follows an equals sign.
  let isValue = false;
  for (let at = start; at < text.length; ) {
    const char = text[at] ?? '';
    if (brackets.length === 0 && (char === '\n' || char === '#')) return at;
    if (char === '[' || char === '{') brackets.push(char);
    if (char === ']' || char === '}') brackets.pop();
    if ('={[,'.includes(char)) isValue = char === '=' || brackets.at(-1) === '[';
    const wordEnd = isValue ? endOf(wordPattern, text, at) : at;
    if (!isPlainWord(text.slice(at, wordEnd))) words.push({ start: at, end: wordEnd });
    at = Math.max(wordEnd, endInToml(text, at) ?? at + 1);
  }
  return text.length;
}

function isPlainWord(word: string): boolean {
  return word === '' || word === 'true' || word === 'false' || String(Number(word)) === word;
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
