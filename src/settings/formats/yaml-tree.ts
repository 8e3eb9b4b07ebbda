/**
 * YAML as a tree with the line of every key, read by the package `yaml`.
 *
 * The package composes a document by recursion, and its work grows faster than the text.
 * The text is therefore bounded while its tokens are read, before composition begins. The
 * result depends only on the text, never on time or on how much stack is left.
 */

import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  type Scalar,
} from 'yaml';

import { scalar, type TreeMember, type TreeNode, type TreeReading } from '../settings-tree.ts';
import { maxDepth, TreeLimit, tooDeepMessage, tooManyTokens, yamlText } from '../text-bounds.ts';

/** Maximum number of aliases in a YAML text. A handful is usual, to share an environment between servers. */
const maxAliases = 100;

function invalidAt(body: string, line: number): TreeLimit {
  const isTab = /^ *\t/u.test(body.split('\n', line).at(-1) ?? '');
  const message = isTab
    ? 'a tab indents this line, which YAML does not allow; write spaces'
    : 'the text is not valid YAML; fix it here or just above';
  return new TreeLimit(message, line);
}

export function readYamlTree(body: string): TreeReading {
  const counter = new LineCounter();
  const lineOf = (offset: number): number => counter.linePos(offset).line;
  try {
    const composer = new Composer({ uniqueKeys: false });
    const [document, second] = composer.compose(boundedTokens(body, counter));
    const [error] = document?.errors ?? [];
    if (error !== undefined) throw invalidAt(body, lineOf(error.pos[0]));
    if (second !== undefined)
      throw new TreeLimit(
        'the file holds several YAML documents; keep one',
        lineOf(second.range[0]),
      );
    if (document?.contents === null || document === undefined)
      throw new TreeLimit('the text is empty; write at least {}', 1);
    return { root: new TreeBuilder(document, lineOf).tree(document.contents, 0) };
  } catch (error) {
    if (!(error instanceof TreeLimit)) throw error;
    return { fault: { line: error.line, path: [], message: error.message } };
  }
}

// Marks the next token as a scalar's text, which may look like any token.
const scalarMark = '\u001f';

/** @throws TreeLimit where the text goes beyond a bound. */
function boundedTokens(body: string, counter: LineCounter): readonly CST.Token[] {
  counter.addNewLine(0);
  const parser = new Parser(counter.addNewLine);
  const tokens: CST.Token[] = [];
  const refuse = (message: string): never => {
    throw new TreeLimit(message, counter.linePos(parser.offset).line);
  };
  let count = 0;
  let aliasCount = 0;
  let isScalarText = false;
  for (const lexeme of new Lexer().lex(body)) {
    count += 1;
    if (count > yamlText.tokens) refuse(tooManyTokens(yamlText));
    if (!isScalarText && lexeme.startsWith('*')) aliasCount += 1;
    if (aliasCount > maxAliases)
      refuse(`the text holds more than ${maxAliases} aliases; write the values themselves`);
    isScalarText = lexeme === scalarMark;
    const next = [...parser.next(lexeme)];
    if (next.some(({ type }) => type === 'error'))
      throw invalidAt(body, counter.linePos(parser.offset).line);
    tokens.push(...next);
    // Each level is one entry; the document and the innermost value take two more.
    if (parser.stack.length > maxDepth + 2) refuse(tooDeepMessage);
  }
  tokens.push(...parser.end());
  return tokens;
}

class TreeBuilder {
  readonly #document: Document;
  readonly #lineOf: (offset: number) => number;
  /** Each alias's target, because `yaml` searches the whole document for it. */
  readonly #targets = new Map<Node, Node>();
  #nodes = 0;

  constructor(document: Document, lineOf: (offset: number) => number) {
    this.#document = document;
    this.#lineOf = lineOf;
  }

  tree(node: unknown, depth: number, inherited = 1): TreeNode {
    const line = this.#startOf(node) ?? inherited;
    this.#nodes += 1;
    if (depth > maxDepth) throw new TreeLimit(tooDeepMessage, line);
    // A text has fewer values than tokens, unless aliases repeat them.
    if (this.#nodes > yamlText.tokens) throw new TreeLimit(tooManyTokens(yamlText), line);
    if (isAlias(node)) {
      const target = this.#targets.get(node) ?? node.resolve(this.#document);
      if (target === undefined)
        throw new TreeLimit('an alias names no anchor above it; write the value itself', line);
      this.#targets.set(node, target);
      // An alias has its own line, not that of its target.
      return { ...this.tree(target, depth + 1, line), line };
    }
    if (isSeq(node))
      return { kind: 'array', line, items: node.items.map((it) => this.tree(it, depth + 1, line)) };
    if (isMap(node))
      return { kind: 'object', line, members: this.#members(node.items, depth, line) };
    return isScalar(node) ? scalarOf(node, line) : scalar(line, null);
  }

  #members(
    pairs: readonly { readonly key: unknown; readonly value: unknown }[],
    depth: number,
    inherited: number,
  ): readonly TreeMember[] {
    // `<<` merges another map; keys that are written here win.
    let written: Set<string> | undefined;
    return pairs.flatMap(({ key, value }) => {
      const line = this.#startOf(key) ?? inherited;
      // Converting such a key to a name takes twice as long with each level of nesting.
      if (isCollection(key))
        throw new TreeLimit('a key is a list or a map; write a name in its place', line);
      const node = this.tree(value, depth + 1, line);
      const name = nameOf(key);
      if (!isScalar(key) || name !== '<<') return [{ name, line, node }];
      written ??= new Set(pairs.map((it) => nameOf(it.key)));
      return mergedMembers(node, written);
    });
  }

  #startOf(node: unknown): number | undefined {
    const range = (node as Node | null | undefined)?.range;
    return range === undefined || range === null ? undefined : this.#lineOf(range[0]);
  }
}

/** @param written - names that are already taken; the merged members' names are added */
function mergedMembers(node: TreeNode, written: Set<string>): readonly TreeMember[] {
  const sources = node.kind === 'array' ? node.items : [node];
  const members = sources.flatMap((it) => (it.kind === 'object' ? it.members : []));
  return members.filter(({ name }) => {
    const isNew = !written.has(name);
    written.add(name);
    return isNew;
  });
}

/** A key is a name, whatever type its text would have as a value. */
function nameOf(key: unknown): string {
  return isScalar(key) ? (key.source ?? String(key.value)) : String(key);
}

function scalarOf({ value, source }: Scalar, line: number): TreeNode {
  if (value === null || value === undefined) return scalar(line, null);
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return scalar(line, value, source);
  // Dates and similar values become text.
  return scalar(line, source ?? JSON.stringify(value));
}
