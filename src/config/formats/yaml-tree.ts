/** YAML as a tree that knows the line of every key, read by the package `yaml`. */

import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
} from 'yaml';

import {
  maxDepth,
  type TreeMember,
  type TreeNode,
  type TreeReading,
  tooDeepMessage,
} from '../settings-tree.ts';

// As many keys and values as a megabyte of settings can name. Aliases of aliases, which
// grow without being written, meet the same bound.
const maxNodes = 200_000;

const invalid = (line: number, message: string): TreeReading => ({
  fault: { line, path: [], message },
});

export function readYamlTree(body: string): TreeReading {
  const counter = new LineCounter();
  try {
    const documents = parseAllDocuments(body, { lineCounter: counter, uniqueKeys: false });
    const [document, second] = Array.isArray(documents) ? documents : [];
    const [error] = document?.errors ?? [];
    if (error !== undefined) {
      const line = error.linePos?.[0].line ?? 1;
      // The reader's own word for the end of its stack.
      if (error.code === 'RESOURCE_EXHAUSTION') return invalid(line, tooDeepMessage);
      return invalid(line, 'the text is not valid YAML; mend it here or just above');
    }
    if (second !== undefined) {
      const { line } = counter.linePos(second.range[0]);
      return invalid(line, 'the file holds several YAML documents; keep one in it');
    }
    if (document?.contents === null || document === undefined)
      return invalid(1, 'the text is empty; write at least {}');
    return { root: new TreeBuilder(document, counter).tree(document.contents, 0) };
  } catch (error) {
    if (error instanceof TreeLimit) return invalid(error.line, error.message);
    // Our own walk calls itself as well, for aliases of aliases too.
    if (error instanceof RangeError) return invalid(1, tooDeepMessage);
    throw error;
  }
}

class TreeLimit extends Error {
  readonly line: number;

  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

class TreeBuilder {
  readonly #document: Document;
  readonly #counter: LineCounter;
  /** What each alias stands for: to find it takes a walk through the text, and an alias may be met often. */
  readonly #targets = new Map<Alias, Node>();
  #nodes = 0;

  constructor(document: Document, counter: LineCounter) {
    this.#document = document;
    this.#counter = counter;
  }

  tree(node: unknown, depth: number, inherited = 1): TreeNode {
    const line = this.#lineOf(node) ?? inherited;
    this.#nodes += 1;
    if (depth > maxDepth) throw new TreeLimit(tooDeepMessage, line);
    if (this.#nodes > maxNodes)
      throw new TreeLimit(`the text holds more than ${maxNodes} values; split it`, line);
    if (isAlias(node)) {
      const target = this.#targetOf(node);
      if (target === undefined)
        throw new TreeLimit('an alias names no anchor above it; write the value itself', line);
      // The lines of what it stands for are elsewhere: here is where it counts.
      return at(this.tree(target, depth + 1, line), line);
    }
    if (isSeq(node))
      return { kind: 'array', line, items: node.items.map((it) => this.tree(it, depth + 1, line)) };
    if (isMap(node))
      return { kind: 'object', line, members: this.#members(node.items, depth, line) };
    return { kind: 'scalar', line, value: isScalar(node) ? plainValue(node.value) : null };
  }

  #members(
    pairs: readonly { readonly key: unknown; readonly value: unknown }[],
    depth: number,
    inherited: number,
  ): readonly TreeMember[] {
    return pairs.flatMap(({ key, value }) => {
      const line = this.#lineOf(key) ?? inherited;
      const node = this.tree(value, depth + 1, line);
      // `<<` takes in another map, of which what is written here wins.
      if (isScalar(key) && key.value === '<<') return mergedMembers(node, pairs);
      return [{ name: nameOf(key), line, node }];
    });
  }

  #targetOf(alias: Alias): Node | undefined {
    const known = this.#targets.get(alias);
    if (known !== undefined) return known;
    const target = alias.resolve(this.#document);
    if (target !== undefined) this.#targets.set(alias, target);
    return target;
  }

  #lineOf(node: unknown): number | undefined {
    const range = (node as Node | null | undefined)?.range;
    return range === undefined || range === null ? undefined : this.#counter.linePos(range[0]).line;
  }
}

function at(node: TreeNode, line: number): TreeNode {
  return { ...node, line };
}

function mergedMembers(
  node: TreeNode,
  pairs: readonly { readonly key: unknown }[],
): readonly TreeMember[] {
  const written = new Set(pairs.map(({ key }) => nameOf(key)));
  const sources = node.kind === 'array' ? node.items : [node];
  const members = sources.flatMap((it) => (it.kind === 'object' ? it.members : []));
  return members.filter(({ name }) => {
    const isNew = !written.has(name);
    written.add(name);
    return isNew;
  });
}

function nameOf(key: unknown): string {
  return isScalar(key) ? String(key.value) : String(key);
}

function plainValue(value: unknown): string | number | boolean | null {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value;
  // Dates and the like are written out again; nothing of ours takes them.
  return value === null || value === undefined ? null : JSON.stringify(value);
}
