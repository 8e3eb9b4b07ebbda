/**
 * Reads a JSON text member by member, so that an edit costs only what it changed: a member whose
 * text was present in the last reading is not parsed again, and its node is built only when it is
 * used.
 *
 * Only the outline is read here: the top-level keys, and those of each top-level object. Each
 * member goes through the same parser and bounds as a whole text. Anything unusual is left to the
 * reader of whole documents, which also writes all errors; both yield equal trees.
 */

import { type Node, type ParseError, parseTree } from 'jsonc-parser';

import {
  type EntryText,
  lineFinder,
  memberOfText,
  membersOf,
  type TreeMember,
  type TreeNode,
  treeOf,
} from './settings-tree.ts';
import { maxDepth, type TextBounds, weightOf } from './text-bounds.ts';

/** Where the members of `mcpServers` begin and end in a document. */
export interface EntryPlaces {
  readonly body: string;
  /** Tokens of the whole text, at least. */
  readonly tokens: number;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** The members of the last document that was read, by their source text. */
export class EntryTexts {
  /** Undefined when that text was not read by member. */
  places: EntryPlaces | undefined;
  #present: ReadonlyMap<string, EntryText> = new Map();

  get(text: string): EntryText | undefined {
    return this.#present.get(text);
  }

  /** Forgets all others. Uses the new keys: a slice of an old document keeps all of it in memory. */
  replace(present: ReadonlyMap<string, EntryText>): void {
    this.#present = present;
  }
}

/** Yields regularly, so that a large text does not block; undefined if it needs the other reader. */
export function* readTreeByEntry(
  body: string,
  bounds: TextBounds,
  known: EntryTexts,
  line = 1,
): Generator<void, TreeNode | undefined> {
  const outline = new Outline(body, bounds, known, line);
  known.places = undefined;
  try {
    const root = yield* outline.read();
    known.replace(outline.present);
    known.places = { body, ...outline.places };
    return root;
  } catch (error) {
    if (error === unusual) return undefined;
    throw error;
  }
}

/**
 * Reads members as they are between the braces of `mcpServers`, of which the first begins on this
 * line; undefined if the text is anything else, or begins or ends with anything else.
 */
export function readMembers(
  text: string,
  line: number,
  bounds: TextBounds,
): (Omit<EntryPlaces, 'body'> & { readonly members: readonly TreeMember[] }) | undefined {
  const head = '{"mcpServers":{';
  const known = new EntryTexts();
  const turns = readTreeByEntry(`${head}${text}}}`, bounds, known, line);
  let turn = turns.next();
  while (turn.done !== true) turn = turns.next();
  if (turn.value === undefined || known.places === undefined) return undefined;
  const [starts, ends] = [known.places.starts, known.places.ends].map((all) =>
    all.map((at) => at - head.length),
  ) as [number[], number[]];
  if (starts[0] !== 0 || ends.at(-1) !== text.length) return undefined;
  const members = membersOf(membersOf(turn.value)[0]?.node);
  return { members, tokens: known.places.tokens, starts, ends };
}

const jsonc = { allowTrailingComma: true } as const;

/** Thrown for text that only the parser of whole documents handles; not an error. */
const unusual = new Error('unusual');

const code = {
  tab: 9,
  newline: 10,
  return: 13,
  space: 32,
  quote: 34,
  star: 42,
  comma: 44,
  slash: 47,
  colon: 58,
  openList: 91,
  backslash: 92,
  closeList: 93,
  open: 123,
  close: 125,
} as const;

// A new member costs about 20 µs and a known one 1 µs.
const newWeight = 20;
const turnWeight = 4_000;

class Outline {
  readonly present = new Map<string, EntryText>();
  readonly #body: string;
  readonly #bounds: TextBounds;
  readonly #known: EntryTexts;
  #at = 0;
  #line: number;
  #tokens = 0;
  #weight = 0;
  /** Where the members of the object at the top that was read last begin and end. */
  #starts: number[] = [];
  #ends: number[] = [];
  #places: Pick<EntryPlaces, 'starts' | 'ends'> = { starts: [], ends: [] };

  constructor(body: string, bounds: TextBounds, known: EntryTexts, line: number) {
    this.#body = body;
    this.#bounds = bounds;
    this.#known = known;
    this.#line = line;
  }

  get places(): Omit<EntryPlaces, 'body'> {
    return { tokens: this.#tokens, ...this.#places };
  }

  *read(): Generator<void, TreeNode> {
    this.#skipBlanks();
    const root = yield* this.#object(1);
    this.#skipBlanks();
    if (this.#at < this.#body.length) throw unusual;
    return root;
  }

  *#object(level: 1 | 2): Generator<void, TreeNode> {
    const line = this.#line;
    this.#take(code.open);
    const members: TreeMember[] = [];
    for (;;) {
      this.#skipBlanks();
      if (this.#code() === code.close) break;
      if (level === 2) this.#starts.push(this.#at);
      members.push(yield* this.#member(level));
      if (level === 2) this.#ends.push(this.#at);
      this.#skipBlanks();
      if (this.#code() !== code.comma) break;
      this.#take(code.comma);
    }
    this.#take(code.close);
    return { kind: 'object', line, members };
  }

  *#member(level: 1 | 2): Generator<void, TreeMember> {
    const { start, line, tokens } = { start: this.#at, line: this.#line, tokens: this.#tokens };
    this.#skipString();
    const nameEnd = this.#at;
    this.#tokens += 1;
    this.#skipBlanks();
    this.#take(code.colon);
    this.#skipBlanks();
    if (level === 1 && this.#code() === code.open) {
      const name = nameIn(this.#body.slice(start, nameEnd));
      [this.#starts, this.#ends] = [[], []];
      const node = yield* this.#object(2);
      if (name === 'mcpServers') this.#places = { starts: this.#starts, ends: this.#ends };
      return { name, line, node };
    }
    this.#skipValue();
    const text = this.#body.slice(start, this.#at);
    const { entry, node } = this.#entryOf(text);
    // A member at the top is one level higher than one of an object.
    if (entry.depth + level - 1 > maxDepth) throw unusual;
    this.#line = line + entry.lineBreaks;
    this.#tokens = tokens + entry.tokens;
    if (this.#tokens > this.#bounds.tokens) throw unusual;
    if (this.#weight >= turnWeight) {
      this.#weight = 0;
      yield;
    }
    return memberAt(line, text, entry, node);
  }

  #entryOf(text: string): { readonly entry: EntryText; readonly node?: Node } {
    const entry = this.#known.get(text) ?? this.present.get(text);
    this.#weight += entry === undefined ? newWeight : 1;
    const found = entry === undefined ? newEntry(text, this.#bounds) : { entry };
    this.present.set(text, found.entry);
    return found;
  }

  #code(): number {
    return this.#body.charCodeAt(this.#at);
  }

  #take(expected: number): void {
    if (this.#code() !== expected) throw unusual;
    this.#at += 1;
    this.#tokens += 1;
  }

  #skipBlanks(): void {
    for (;;) {
      const here = this.#code();
      if (here === code.newline) this.#line += 1;
      if (here === code.slash) {
        this.#tokens += 1;
        const start = this.#at;
        this.#skipComment();
        this.#line += lineBreaksIn(this.#body.slice(start, this.#at));
      } else if (isBlank(here)) this.#at += 1;
      else return;
    }
  }

  #skipComment(): void {
    const body = this.#body;
    const second = body.charCodeAt(this.#at + 1);
    if (second === code.star) {
      const end = body.indexOf('*/', this.#at + 2);
      if (end === -1) throw unusual;
      this.#at = end + 2;
      return;
    }
    if (second !== code.slash) throw unusual;
    const end = body.indexOf('\n', this.#at);
    if (end === -1) throw unusual;
    const inner = body.slice(this.#at, end).indexOf('\r');
    // The parser ends a comment there too.
    if (inner !== -1 && this.#at + inner < end - 1) throw unusual;
    this.#at = end;
  }

  #skipString(): void {
    const body = this.#body;
    if (this.#code() !== code.quote) throw unusual;
    let end = this.#at;
    let isEscaped = true;
    while (isEscaped) {
      end = body.indexOf('"', end + 1);
      if (end === -1) throw unusual;
      let slashes = 0;
      while (body.charCodeAt(end - 1 - slashes) === code.backslash) slashes += 1;
      isEscaped = slashes % 2 === 1;
    }
    this.#at = end + 1;
  }

  #skipValue(): void {
    const here = this.#code();
    if (here === code.quote) this.#skipString();
    else if (here === code.open || here === code.openList) this.#skipNested();
    else while (isOfWord(this.#code())) this.#at += 1;
  }

  #skipNested(): void {
    const body = this.#body;
    let depth = 0;
    do {
      const here = body.charCodeAt(this.#at);
      if (here === code.quote) this.#skipString();
      else if (here === code.slash) this.#skipComment();
      else {
        if (here === code.open || here === code.openList) depth += 1;
        else if (here === code.close || here === code.closeList) depth -= 1;
        else if (Number.isNaN(here)) throw unusual;
        this.#at += 1;
      }
    } while (depth > 0);
  }
}

/** Parses a text on its own, which must be exactly one member. */
function newEntry(
  text: string,
  bounds: TextBounds,
): { readonly entry: EntryText; readonly node: Node } {
  const whole = `{${text}}`;
  const weight = weightOf(whole, 'json', bounds);
  if ('message' in weight) throw unusual;
  const errors: ParseError[] = [];
  const root = parseTree(whole, errors, jsonc);
  const [member, ...others] = root?.children ?? [];
  const [name, node] = member?.children ?? [];
  const isOne = errors.length === 0 && others.length === 0;
  if (!isOne || name === undefined || node === undefined) throw unusual;
  const { depth } = weight;
  // Without the two brackets.
  const tokens = weight.tokens - 2;
  const lineBreaks = lineBreaksIn(text);
  return { entry: { name: String(name.value), lineBreaks, tokens, depth }, node };
}

/** Builds the node when it is first used, which never happens for a known text. */
function memberAt(
  line: number,
  text: string,
  entry: EntryText,
  parsed: Node | undefined,
): TreeMember {
  let tree: TreeNode | undefined;
  return memberOfText(entry, {
    name: entry.name,
    line,
    nodeOf: () => {
      tree ??= nodeOf(text, line, parsed);
      return tree;
    },
  });
}

function nodeOf(text: string, line: number, parsed: Node | undefined): TreeNode {
  const whole = `{${text}}`;
  const node = parsed ?? parseTree(whole, [], jsonc)?.children?.[0]?.children?.[1];
  if (node === undefined) throw new Error('a text without errors has a value');
  const lineOf = lineFinder(whole);
  return treeOf(node, whole, (offset) => line - 1 + lineOf(offset));
}

function nameIn(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    throw unusual;
  }
}

export function lineBreaksIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

function isBlank(here: number): boolean {
  return here === code.space || here === code.newline || here === code.tab || here === code.return;
}

function isOfWord(here: number): boolean {
  if (Number.isNaN(here) || isBlank(here)) return false;
  return ![code.comma, code.close, code.closeList, code.slash].some((end) => end === here);
}
