/** Adds to a settings text in our format, and leaves everything else in it unchanged. */

import {
  applyEdits,
  createScanner,
  findNodeAtLocation,
  modify,
  type Node,
  parse,
  parseTree,
} from 'jsonc-parser';
import { writeJson } from '../domain/data/exact-json.ts';
import { equalData } from '../policies/equal-data.ts';

export interface Addition {
  /** Its path, as `['mcpServers', 'db']`; `-1` after a list appends to it. */
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/**
 * Appends each addition to its object or list. Undefined when that is impossible
 * without changing something else: nothing is removed, and no comment moves.
 */
export function addToSettings(text: string, additions: readonly Addition[]): string | undefined {
  const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
  const body = text.slice(mark.length);
  let edited: string | undefined = body;
  // The parser's own editor adds the same, but may move comments: it serves as a check.
  let expected = body;
  for (const { path, value } of additions) {
    edited = withAddition(edited, { path, value });
    if (edited === undefined) return undefined;
    expected = applyEdits(expected, modify(expected, [...path], value, { isArrayInsertion: true }));
  }
  return equalData(plain(edited), plain(expected)) ? mark + edited : undefined;
}

export interface Change {
  readonly path: readonly (string | number)[];
  /** Undefined removes it. */
  readonly value: unknown;
}

/**
 * Applies each change in order: adds what is missing, replaces or removes what is there. Undefined when that is
 * impossible without changing something else.
 */
export function changeSettings(text: string, changes: readonly Change[]): string | undefined {
  let edited: string | undefined = text;
  for (const change of changes) {
    if (edited === undefined) return undefined;
    edited = withChange(edited, change);
  }
  return edited;
}

function withChange(text: string, { path, value }: Change): string | undefined {
  const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
  const body = text.slice(mark.length);
  const content = plain(body);
  const present = valueAt(content, path);
  if (present === undefined)
    return value === undefined ? text : addToSettings(text, [{ path, value }]);
  const edited = value === undefined ? without(body, path) : withValue(body, path, value);
  if (edited === undefined) return undefined;
  return equalData(plain(edited), replacedIn(content, path, value)) ? mark + edited : undefined;
}

function withValue(text: string, path: Change['path'], value: unknown): string {
  const unit = unitOf(text);
  const formattingOptions = {
    eol: text.includes('\r\n') ? '\r\n' : '\n',
    insertSpaces: !unit.startsWith('\t'),
    tabSize: unit.length,
  };
  return applyEdits(text, modify(text, [...path], value, { formattingOptions }));
}

/** Removes an item with its comma and what follows on its line; the parser's own editor removes more comments. */
function without(text: string, path: Change['path']): string | undefined {
  const root = parseTree(text, [], { allowTrailingComma: true });
  const found = root === undefined ? undefined : findNodeAtLocation(root, [...path]);
  const item = found?.parent?.type === 'property' ? found.parent : found;
  const holder = item?.parent;
  if (item === undefined || holder?.children === undefined) return undefined;
  const rest = cutItem(text, holder.children, item);
  const start = holder.offset + 1;
  const end = holder.offset + holder.length - 1 - (text.length - rest.length);
  const isEmpty = holder.children.length === 1 && rest.slice(start, end).trim() === '';
  return isEmpty ? rest.slice(0, start) + rest.slice(end) : rest;
}

function cutItem(text: string, items: readonly Node[], item: Node): string {
  const itemEnd = item.offset + item.length;
  const { commaEnd, lineEnd } = behind(text, itemEnd);
  const isLineDone = /^[ \t]*(?:\r?\n|$)/u.test(text.slice(lineEnd));
  const end = isLineDone ? lineEnd : (commaEnd ?? itemEnd);
  const previous = items[items.indexOf(item) - 1];
  let head = text.slice(0, item.offset);
  let tail = text.slice(end);
  const before = previous && behind(text, previous.offset + previous.length);
  // Without a comma of its own, the last item leaves the comma before it behind.
  if (commaEnd === undefined && before?.commaEnd !== undefined)
    head = head.slice(0, before.commaEnd - 1) + head.slice(before.commaEnd);
  const isOnOwnLine = /(?:^|\n)[ \t]*$/u.test(head);
  if (isOnOwnLine && isLineDone) {
    head = head.replace(/[ \t]*$/u, '');
    tail = tail.replace(/^[ \t]*(?:\r?\n)?/u, '');
  } else if (commaEnd !== undefined && /^[ \t]/u.test(tail)) tail = tail.replace(/^[ \t]+/u, '');
  else if (!isOnOwnLine) head = head.replace(/[ \t]+$/u, '');
  return head + tail;
}

function valueAt(holder: unknown, path: readonly (string | number)[]): unknown {
  let value = holder;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

/** The expected content, computed without the editor that it checks. */
function replacedIn(
  holder: unknown,
  [first, ...rest]: readonly (string | number)[],
  value: unknown,
): unknown {
  if (first === undefined) return value;
  if (Array.isArray(holder))
    return (holder as unknown[]).flatMap((item, index) => {
      const now = index === first ? replacedIn(item, rest, value) : item;
      return now === undefined ? [] : [now];
    });
  const entries = typeof holder === 'object' && holder !== null ? Object.entries(holder) : [];
  return Object.fromEntries(
    entries.flatMap(([key, item]) => {
      const now: unknown = key === first ? replacedIn(item, rest, value) : item;
      return now === undefined ? [] : [[key, now]];
    }),
  );
}

function withAddition(text: string, { path, value }: Addition): string | undefined {
  let holder = parseTree(text, [], { allowTrailingComma: true });
  for (const [depth, segment] of path.entries()) {
    if (holder === undefined) return undefined;
    const found: Node | undefined =
      typeof segment === 'string' ? propertyOf(holder, segment) : undefined;
    if (found === undefined) {
      if (holder.type !== (typeof segment === 'number' ? 'array' : 'object')) return undefined;
      const rest = path.slice(depth + 1).toReversed();
      const content = rest.reduce<unknown>(
        (inner, key) => (typeof key === 'number' ? [inner] : Object.fromEntries([[key, inner]])),
        value,
      );
      const name = typeof segment === 'string' ? `${JSON.stringify(segment)}: ` : '';
      return insertInto(text, holder, (indent) => name + jsonText(content, text, indent));
    }
    holder = found;
  }
  return undefined;
}

function propertyOf(holder: Node, name: string): Node | undefined {
  const property = holder.children?.findLast((it) => it.children?.[0]?.value === name);
  return property?.children?.[1];
}

// Values of jsonc-parser's SyntaxKind, a const enum that isolated modules cannot read.
const comma = 5;
const lineComment = 12;
const blockComment = 13;
const lineBreak = 14;
const blank = 15;

/** Inserts an item after the last one of an object or list. */
function insertInto(text: string, holder: Node, write: (indent: string) => string): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const last = holder.children?.at(-1);
  if (last === undefined) {
    const outer = indentAt(text, holder.offset);
    const inner = outer + unitOf(text);
    // Only a comment can be between the braces; it stays after the opening one.
    const end = holder.offset + holder.length - 1;
    const head = text.slice(0, end).replace(/[ \t\r\n]+$/u, '');
    return `${head}${eol}${inner}${write(inner)}${eol}${outer}${text.slice(end)}`;
  }
  const valueEnd = last.offset + last.length;
  const { commaEnd, lineEnd } = behind(text, valueEnd);
  const short = write('');
  // Beside the last item, if the brace is; so that a removal leaves what was there.
  if (isClosed(text, valueEnd, lineEnd) && !short.includes('\n')) {
    const item = commaEnd === undefined ? `, ${short}` : ` ${short},`;
    const at = commaEnd ?? valueEnd;
    return text.slice(0, at) + item + text.slice(at);
  }
  const isOnOwnLine = /^\s*$/u.test(text.slice(lineStart(text, last.offset), last.offset));
  const indent = isOnOwnLine
    ? indentAt(text, last.offset)
    : indentAt(text, holder.offset) + unitOf(text);
  const item = `${eol}${indent}${write(indent)}`;
  const end = lineEnd + (/^[ \t]+(?=\r?\n)/u.exec(text.slice(lineEnd))?.[0].length ?? 0);
  const rest = text.slice(end);
  if (commaEnd !== undefined) return `${text.slice(0, end)}${item},${rest}`;
  // A brace on the line of the last item moves below the new one.
  const closing = isClosed(text, valueEnd, lineEnd)
    ? eol + indentAt(text, holder.offset) + rest.trimStart()
    : rest;
  return `${text.slice(0, valueEnd)},${text.slice(valueEnd, end)}${item}${closing}`;
}

/** Whether the brace or bracket is on the line on which the last item ends. */
function isClosed(text: string, valueEnd: number, lineEnd: number): boolean {
  return /^[ \t]*[}\]]/u.test(text.slice(lineEnd)) && !text.slice(valueEnd, lineEnd).includes('\n');
}

/** Finds the end of the comma after an item, and of the comments on its line. */
function behind(text: string, valueEnd: number): { commaEnd?: number; lineEnd: number } {
  const scanner = createScanner(text, false);
  scanner.setPosition(valueEnd);
  let commaEnd: number | undefined;
  let lineEnd = valueEnd;
  for (let token: number = scanner.scan(); ; token = scanner.scan()) {
    const end = scanner.getTokenOffset() + scanner.getTokenLength();
    if (token === comma && commaEnd === undefined) {
      commaEnd = end;
      lineEnd = end;
    } else if (token === lineComment || token === blockComment) lineEnd = end;
    else if (token === lineBreak && commaEnd === undefined) {
      // The comma may stand on a later line.
      const later = behindLine(text, end);
      if (later === undefined) break;
      commaEnd = later;
      lineEnd = later;
    } else if (token !== blank) break;
  }
  return commaEnd === undefined ? { lineEnd } : { commaEnd, lineEnd };
}

/** Finds the end of a comma that only comments and blanks separate from a place. */
function behindLine(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  const token: number = scanner.scan();
  return token === comma ? scanner.getTokenOffset() + scanner.getTokenLength() : undefined;
}

function jsonText(value: unknown, text: string, indent: string): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  return writeJson(value, unitOf(text)).replaceAll('\n', eol + indent);
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

function indentAt(text: string, offset: number): string {
  return /^[ \t]*/u.exec(text.slice(lineStart(text, offset)))?.[0] ?? '';
}

/** The text's indentation; two spaces when it has none. */
function unitOf(text: string): string {
  return /\n([ \t]+)\S/u.exec(text)?.[1] ?? '  ';
}

function plain(text: string): unknown {
  return parse(text, [], { allowTrailingComma: true });
}
