/**
 * JSON with comments as a tree with the line of every key.
 *
 * Objects stay lists of members, so that duplicate keys can be reported and a user's text never
 * becomes a key of one of our objects.
 */

import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { z } from 'zod';

import { setNumberText } from '../domain/data/exact-json.ts';
import { unknownKeyMessage } from '../policies/text/closest-name.ts';
import { tooLong } from './settings-bytes.ts';
import { excessOf, ownText, type TextBounds, type TextWeight } from './text-bounds.ts';

export type TreeNode = { readonly line: number } & (
  | { readonly kind: 'object'; readonly members: readonly TreeMember[] }
  | { readonly kind: 'array'; readonly items: readonly TreeNode[] }
  | Scalar
);

interface Scalar {
  readonly kind: 'scalar';
  readonly value: string | number | boolean | null;
  /** How a number or a truth value is written, where JavaScript would write it differently. */
  readonly text?: string;
}

export interface TreeMember {
  readonly name: string;
  /** Line of the name, 1-based. */
  readonly line: number;
  readonly node: TreeNode;
  /** Its path in the text, if conversion moved it. */
  readonly written?: TreePath;
}

/** The text of one member, its name included. It remains the same object as long as that text is present. */
export interface EntryText extends TextWeight {
  readonly name: string;
  readonly lineBreaks: number;
}

// A text may outlive its members: a reference to them would keep their trees in memory.
const textsOfMembers = new WeakMap<TreeMember, EntryText>();

/** Returns the text of a member that was parsed from it alone; undefined for any other member. */
export function entryOf(member: TreeMember): EntryText | undefined {
  return textsOfMembers.get(member);
}

/** Creates a member that its text determines. A copy may hold another node, so it has no text. */
export function memberOfText(
  entry: EntryText,
  { name, line, written, nodeOf }: Omit<TreeMember, 'node'> & { readonly nodeOf: () => TreeNode },
): TreeMember {
  const member: TreeMember = {
    name,
    line,
    ...(written && { written }),
    get node() {
      return nodeOf();
    },
  };
  textsOfMembers.set(member, entry);
  return member;
}

/** Returns a member with its path in the text, without reading its node. */
export function placedAt(
  member: TreeMember,
  written: TreePath,
): TreeMember & Required<Pick<TreeMember, 'written'>> {
  const entry = entryOf(member);
  if (entry === undefined) return { ...member, written };
  const { name, line } = member;
  const placed = memberOfText(entry, { name, line, written, nodeOf: () => member.node });
  return placed as typeof placed & Required<Pick<TreeMember, 'written'>>;
}

export type TreePath = readonly (string | number)[];

/** A mistake at one place in a document, and what to write instead. */
export interface Fault {
  readonly line: number;
  readonly path: TreePath;
  readonly message: string;
  /** A warning costs no server and no value. Absent: an error. */
  readonly severity?: 'warning';
}

export type TreeReading = { readonly root: TreeNode } | { readonly fault: Fault };

/** Removes the byte order mark, and rejects documents that no reader can parse. */
export function readableText(
  text: string,
  { length }: TextBounds,
): { readonly body: string } | { readonly fault: Fault } {
  // Only one mark: a second one is an ordinary character.
  const body = text.startsWith('\ufeff') ? text.slice(1) : text;
  const faultAt = (offset: number, message: string) => ({
    fault: { line: lineFinder(body)(offset), path: [], message },
  });
  if (body.length > length) return faultAt(0, tooLong(body.length, length));
  if (body.trim() === '') return faultAt(0, 'the text is empty; write at least {}');
  const nul = body.indexOf('\0');
  if (nul !== -1) return faultAt(nul, 'the text holds a NUL character; save it as UTF-8 text');
  return { body };
}

/** Parses a document, or returns the line of its first syntax error. */
export function readTree(text: string, bounds: TextBounds = ownText): TreeReading {
  const readable = readableText(text, bounds);
  if ('fault' in readable) return readable;
  const { body } = readable;
  const lineOf = lineFinder(body);
  const faultAt = (offset: number, message: string) => ({
    fault: { line: lineOf(offset), path: [], message },
  });

  const excess = excessOf(body, 'json', bounds);
  if (excess !== undefined) return faultAt(excess.offset, excess.message);

  const errors: ParseError[] = [];
  const node = parseTree(body, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    const wrong = wordsOf(printParseErrorCode(error.error));
    return faultAt(
      error.offset,
      `the text is not valid JSON (${wrong}); fix it here or just above`,
    );
  }
  if (node === undefined) return faultAt(0, 'the text is empty; write at least {}');
  return { root: treeOf(node, body, lineOf) };
}

/** Creates a scalar. @param written - its text in the file */
export function scalar(line: number, value: Scalar['value'], written?: string): TreeNode {
  const isText = typeof value === 'string' || value === null;
  if (isText || written === undefined || written === String(value))
    return { kind: 'scalar', line, value };
  return { kind: 'scalar', line, value, text: written };
}

/** Returns a number or a truth value as the text that is written in the file; undefined for any other node. */
export function writtenText(node: TreeNode): string | undefined {
  if (node.kind !== 'scalar' || typeof node.value === 'string' || node.value === null)
    return undefined;
  return node.text ?? String(node.value);
}

/**
 * Converts a node to a plain value; `writeJson` writes its numbers as they are written in the file.
 * The last of several duplicate keys wins, as in `JSON.parse`.
 */
export function valueOf(node: TreeNode): unknown {
  if (node.kind === 'scalar') return node.value;
  const isList = node.kind === 'array';
  // `fromEntries` defines every key as an own property, `__proto__` included.
  const value = isList
    ? node.items.map(valueOf)
    : Object.fromEntries(node.members.map((member) => [member.name, valueOf(member.node)]));
  const parts = isList
    ? node.items.entries()
    : node.members.map((it) => [it.name, it.node] as const);
  for (const [key, part] of parts)
    if (part.kind === 'scalar' && part.text !== undefined) setNumberText(value, key, part.text);
  return value;
}

/** Finds a member by name; undefined when there is none or the node is not an object. */
export function memberOf(node: TreeNode, name: string): TreeMember | undefined {
  return node.kind === 'object'
    ? node.members.findLast((member) => member.name === name)
    : undefined;
}

/** Returns the members of an object; none for any other node. */
export function membersOf(node: TreeNode | undefined): readonly TreeMember[] {
  return node?.kind === 'object' ? node.members : [];
}

/**
 * Returns the path and message of a schema's first issue. An unknown key has a path of its own.
 *
 * @param unknownKey - writes the message about a key, given the keys that its object may have
 */
export function schemaFault(
  schema: z.ZodType,
  { issues: [issue] }: z.ZodError,
  unknownKey: (key: string, names: readonly string[]) => string = unknownKeyMessage,
): Omit<Fault, 'line'> {
  const where = (issue?.path ?? []).map((part) => (typeof part === 'symbol' ? '' : part));
  if (issue?.code !== 'unrecognized_keys') return { path: where, message: issue?.message ?? '' };
  const [key = ''] = issue.keys;
  return { path: [...where, key], message: unknownKey(key, keysAt(schema, where)) };
}

/** Lists the keys that a schema has for the object at a path. */
function keysAt(schema: unknown, where: TreePath): readonly string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return keysAt(schema.unwrap(), where);
  if (schema instanceof z.ZodUnion)
    return schema.options.flatMap((option) => keysAt(option, where));
  const [step, ...rest] = where;
  if (schema instanceof z.ZodObject)
    return step === undefined ? Object.keys(schema.shape) : keysAt(schema.shape[step], rest);
  if (schema instanceof z.ZodArray) return keysAt(schema.element, rest);
  return schema instanceof z.ZodRecord ? keysAt(schema.valueType, rest) : [];
}

/** Finds the line of the deepest existing part of a path. */
export function lineAt(node: TreeNode, path: TreePath): number {
  let line = node.line;
  let here: TreeNode | undefined = node;
  for (const segment of path) {
    if (typeof segment === 'number') {
      here = here.kind === 'array' ? here.items[segment] : undefined;
      line = here?.line ?? line;
    } else {
      const member = memberOf(here, segment);
      here = member?.node;
      line = member?.line ?? line;
    }
    if (here === undefined) break;
  }
  return line;
}

/** Finds where a path below `member` is written in the text; `here` is the member's own path. */
export function writtenPath(member: TreeMember, here: TreePath, path: TreePath): TreePath {
  let written = member.written ?? here;
  let node: TreeNode | undefined = member.node;
  for (const segment of path) {
    const found: TreeMember | undefined =
      node === undefined || typeof segment === 'number' ? undefined : memberOf(node, segment);
    written = found?.written ?? [...written, segment];
    node = found?.node ?? (node?.kind === 'array' ? node.items[Number(segment)] : undefined);
  }
  return written;
}

/**
 * Finds the first fault that JSON allows and settings do not: a duplicate key (a
 * reviewer may read the wrong one), `__proto__`, a NUL, or half a surrogate pair.
 */
export function findFault(node: TreeNode, path: TreePath = []): Fault | undefined {
  if (node.kind === 'scalar') {
    if (typeof node.value !== 'string' || isCleanText(node.value)) return undefined;
    const message = 'the text holds a NUL or broken Unicode character; write it without';
    return { line: node.line, path, message };
  }
  if (node.kind === 'array') {
    return firstOf(node.items, (item, index) => findFault(item, [...path, index]));
  }
  const linesByName = new Map<string, number>();
  return firstOf(node.members, ({ name, line, node: child }) => {
    const here = [...path, name];
    const earlier = linesByName.get(name);
    const message = `the key is already on line ${earlier}; keep one of the two`;
    if (earlier !== undefined) return { line, path: here, message };
    linesByName.set(name, line);
    if (name === '__proto__' || !isCleanText(name))
      return { line, path: here, message: 'this key cannot be used; choose another name' };
    return findFault(child, here);
  });
}

function isCleanText(text: string): boolean {
  return !/[\0\p{Cs}]/u.test(text);
}

/** Checks items in order and returns the first fault. */
export function firstOf<Item, Found>(
  items: readonly Item[],
  check: (item: Item, index: number) => Found | undefined,
): Found | undefined {
  for (const [index, item] of items.entries()) {
    const fault = check(item, index);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

export function treeOf(node: Node, text: string, lineOf: (offset: number) => number): TreeNode {
  const { offset, length } = node;
  const line = lineOf(offset);
  const children = node.children ?? [];
  if (node.type === 'array')
    return { kind: 'array', line, items: children.map((child) => treeOf(child, text, lineOf)) };
  if (node.type !== 'object') return scalar(line, node.value, text.slice(offset, offset + length));
  const members = children.flatMap((property) => {
    const [name, value] = property.children ?? [];
    if (name === undefined || value === undefined) return [];
    const content = treeOf(value, text, lineOf);
    return [{ name: String(name.value), line: lineOf(name.offset), node: content }];
  });
  return { kind: 'object', line, members };
}

export function lineFinder(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

/** Writes `CommaExpected` as "comma expected". */
function wordsOf(code: string): string {
  return code.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}
